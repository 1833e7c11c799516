// SPDX-License-Identifier: MIT OR Apache-2.0
// From copies of stacks to chains of calls, of many processes. Chains that are alike are kept once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/clock.h"
#include "cli/symbols/code_map.hpp"
#include "cli/symbols/process_symbols.hpp"
#include "cli/symbols/unwinder.hpp"
#include "cli/waits/call_chain.hpp"
#include "cli/waits/lock_wait.hpp"

namespace holdfast::cli {

class stack_reader {
public:
    chain_number read(const watched_process &process, const hf_stack &stack);
    const call_chain &chain(chain_number number) const { return *chains_[number]; }

    // The symbol at an address of data; empty where no symbol says more than the address.
    std::string name_of_data(const watched_process &process, std::uint64_t address);

    // Lets go of what is known of processes that do not run any more; chains stay.
    void forget_ended();

private:
    struct known_process {
        known_process(pid_t pid, std::shared_ptr<symbol_files> files)
            : symbols(pid, std::move(files)), stacks(pid), made_at_run_time(pid), looked_ns(hf_monotonic_ns()) {}
        process_symbols symbols;
        unwinder stacks;
        code_map made_at_run_time;
        std::uint64_t looked_ns;                                 // for libraries that were loaded later
        std::map<std::uint64_t, call_chain> frames;              // by address: several where functions are inlined
        std::map<std::vector<std::uint64_t>, chain_number> seen; // by addresses
    };

    known_process &known(const watched_process &process);
    const call_chain &frames_at(known_process &process, std::uint64_t address);
    static call_chain named_frames(known_process &process, std::uint64_t address);

    // To name an address takes a hundred times as long as to find it: what one process of a program has told is told of
    // the next. Of files alone, and of what has a name.
    std::map<code_place, call_chain> frames_of_files_;
    std::shared_ptr<symbol_files> files_ = std::make_shared<symbol_files>();
    std::map<watched_process, std::unique_ptr<known_process>> processes_;
    std::vector<std::unique_ptr<call_chain>> chains_ = first_chain();

    static std::vector<std::unique_ptr<call_chain>> first_chain();
};

// Also if its number is another's by now.
bool has_ended(const watched_process &process);

} // namespace holdfast::cli
