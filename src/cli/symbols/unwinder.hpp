// SPDX-License-Identifier: MIT OR Apache-2.0
// From a copy of a thread's stack to the calls that it was in, by the program's unwinding tables (.eh_frame), which all
// programs have; and from an address to functions and lines, where the program has debugging information.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/symbols/elf_file.hpp"
#include "monitor/bpf/wait_events.h"

namespace holdfast::cli {

struct source_frame {
    std::string function; // plain; may be empty
    std::string file;     // base name; may be empty
    unsigned line = 0;    // 0: not known
};

// An address of code as all processes have it that have mapped the file.
struct code_place {
    file_identity file;
    std::string path; // as this process has it
    std::uint64_t offset = 0;
    auto operator<=>(const code_place &) const = default;
};

class unwinder {
public:
    // Reads the process's map.
    explicit unwinder(pid_t process);
    unwinder(unwinder &&) noexcept;
    unwinder &operator=(unwinder &&) noexcept;
    ~unwinder();

    // Addresses inside of the calls, innermost first: as far as the copy and the tables go, at most frames_max.
    std::vector<std::uint64_t> frames_of(const hf_stack &stack);
    static constexpr std::size_t frames_max = 64;
    // Of walks over stacks, which later ones are compared with.
    std::size_t walks_kept() const;

    // Has the process mapped code since the map was read, as it does when it loads a library?
    bool is_outdated() const;

    // Nothing for code that no file is behind.
    std::optional<code_place> place_of(std::uint64_t address) const;

    // The function at the address, and before it those that are inlined there, innermost first. Empty without
    // debugging information.
    std::vector<source_frame> source_of(std::uint64_t address);
    // The function alone, by the symbols of the file or of its debugging information: much less work where that is
    // packed, as the C library's is. May be empty.
    std::string function_at(std::uint64_t address);

    // Empty: this build can. Else why not, in a sentence.
    static std::string why_not();

private:
    struct tables;
    std::unique_ptr<tables> tables_;
};

} // namespace holdfast::cli
