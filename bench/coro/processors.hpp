// SPDX-License-Identifier: MIT OR Apache-2.0
// What of the machine this process has and has used.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace holdfast::bench {

inline unsigned processors_usable() {
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? static_cast<unsigned>(CPU_COUNT(&usable)) : 1;
}

// User and system time of the process.
inline double cpu_seconds_used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace holdfast::bench
