// SPDX-License-Identifier: MIT OR Apache-2.0
// What /proc/PID/stat says of a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace holdfast::cli {

struct process_stat {
    std::string name; // may contain anything
    std::uint64_t threads = 0;
    std::uint64_t started_ticks = 0; // since boot: a number may be given again, but not with the same start
};

// Nothing when it has ended, or is a zombie. One whose main thread alone has ended is neither.
std::optional<process_stat> process_stat_of(pid_t pid);

// A time since boot, in the unit of process_stat.
std::uint64_t ticks_of(std::uint64_t ns_since_boot);

} // namespace holdfast::cli
