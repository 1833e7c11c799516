// SPDX-License-Identifier: MIT OR Apache-2.0
// Real-time threads: those that Linux schedules by SCHED_FIFO, SCHED_RR or SCHED_DEADLINE. They go before others where
// threads wait (lock/wait/realtime_waiters.h, lock/posix/condition.h), as the kernel has it where they sleep.
//
// A thread learns its priority from the kernel when it has come to wait, but only in a process where some thread may
// have one: else that costs a load. Such a process
//
//     was started so, or with a limit to real-time threads' CPU time     found at the start
//     asks for it, or sets that limit, as rtkit wants it of a thread that asks     preload/realtime.c
//
// So a thread that another process makes one of real time (chrt --pid), unasked, waits as an ordinary one; unless its
// process is one of those, where every wait asks anew, or it polls for so long that it would be found out by that
// (thread/poll_pause.h).
//
//     NOT_EXPECTED --> EXPECTED --> REMEMBERED: a sandbox may kill a process that asks, so each thread is what it was
//     when it was
//          +-----------------------------^      last asked
#ifndef HF_THREAD_REALTIME_H
#define HF_THREAD_REALTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_realtime {
    HF_REALTIME_NOT_EXPECTED = 0,
    HF_REALTIME_EXPECTED,
    HF_REALTIME_REMEMBERED,
};

// Of this process. Advice.
extern uint32_t hf_realtime_state __attribute__((visibility("hidden")));

static inline bool hf_realtime_is_expected(void) {
    return HF_UNLIKELY(hf_load_relaxed(&hf_realtime_state) != HF_REALTIME_NOT_EXPECTED);
}

// Is it a policy of real-time threads? SCHED_RESET_ON_FORK may be in it.
bool hf_realtime_is_policy(int policy);

// From now on threads may be of real time.
void hf_realtime_expect(void);

// The kernel is not to be asked any more.
void hf_realtime_ask_no_more(void);

unsigned hf_realtime_priority_asked(void) __attribute__((cold));

// The caller's: 1 to 99, above them SCHED_DEADLINE, and 0 of an ordinary thread. Does not change errno.
static inline unsigned hf_realtime_priority(void) {
    return hf_realtime_is_expected() ? hf_realtime_priority_asked() : 0;
}

// The same of a thread that has waited for so long that it matters, whatever is expected.
unsigned hf_realtime_priority_after_all(void) __attribute__((cold));

#ifdef __cplusplus
}
#endif

#endif
