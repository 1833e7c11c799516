// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that programs wait for.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace holdfast {

// From now on the calling thread gets its CPU soon, also where a thousand others want it: where it may, as root's may.
// It may have been made by a thread that runs in spare time only.
inline void be_prompt() {
    sched_param none{};
    if (sched_getscheduler(0) == SCHED_IDLE)
        sched_setscheduler(0, SCHED_OTHER, &none);
    setpriority(PRIO_PROCESS, 0, -10); // this thread's alone
}

} // namespace holdfast
