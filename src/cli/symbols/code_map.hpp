// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of functions that a program makes while it runs, where it writes them into /tmp/perf-PID.map, as Java (jcmd PID
// Compiler.perfmap), Node (--perf-basic-prof) and Python 3.12 (-X perf) do when they are asked to.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::cli {

class code_map {
public:
    explicit code_map(pid_t process) : process_(process) {}

    // "[code made at run time]" where no name is known. Reads the file once, when it is asked first, and again when
    // it has grown: at most every second.
    std::string name_of(std::uint64_t address);

private:
    struct function {
        std::uint64_t from, to;
        std::string name;
    };

    void read_again();

    pid_t process_;
    std::uint64_t looked_ns_ = 0;
    std::size_t bytes_read_ = 0;
    std::vector<function> functions_; // in ascending order; of those at one place the latest
};

} // namespace holdfast::cli
