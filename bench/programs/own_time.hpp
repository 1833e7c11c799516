// SPDX-License-Identifier: MIT OR Apache-2.0
// Work that is measured in a thread's own CPU time, which other load takes nothing of.
#pragma once

#include <ctime>

namespace holdfast::bench {

inline double own_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

inline void work_ms(double ms) {
    for (double end = own_ms() + ms; own_ms() < end;)
        ;
}

} // namespace holdfast::bench
