// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock at an address is called, for those of static storage, and where it was made, if its statistics say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cli/symbols/process_symbols.hpp"
#include "cli/top/look.hpp"

namespace holdfast::cli::top {

class lock_names {
public:
    // Names the process's locks. Each address is looked up once: reading symbols takes longer than a look.
    void name(process_sample &process);
    // Lets go of processes that `name` was not asked for since the last call.
    void forget_others();

private:
    struct known_process {
        process_symbols symbols;
        std::string program; // after an exec it is another one
        std::map<std::uint64_t, std::string> names;
        bool asked_for = true;
    };
    std::shared_ptr<symbol_files> files_ = std::make_shared<symbol_files>();
    std::map<process_id, known_process> known_;
};

} // namespace holdfast::cli::top
