// SPDX-License-Identifier: MIT OR Apache-2.0
// What of the processors this process has used.
#pragma once

#include <sys/resource.h>

namespace holdfast::bench {

// User and system time of the process.
inline double cpu_seconds_used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace holdfast::bench
