// SPDX-License-Identifier: MIT OR Apache-2.0
// The yield policy: when a waiter of a hot lock leaves its CPU to others, where batches pay.
//
// With as many threads as CPUs, a waiter that polls while the owner works costs nothing. Beside other processes it
// costs its own process's share of the CPU: the scheduler counts the time that it polls as time that it worked. To
// sleep on the word costs more: its owner, which takes the lock again some ten nanoseconds later, would call the kernel
// at each release. So the waiter sleeps for a set time, unannounced.
//
//     +-------+   hot, deferred to its owner, on a shared CPU   +--------------+
//     | polls | ----------------------------------------------> | timed sleep  | <-+  released meanwhile, and within
//     +-------+ <---------------------------------------------- +--------------+ --+  a turn: twice as long
//        takes the word when it is FREE: its slice is over
//
// A turn is the time for which a hot lock stays on the CPU of a waiter that has slept for it (lock_history.h). So
// however many waiters sleep, the lock moves to another CPU once in a turn.
//
// wait.P3  Bounded. In one wait a waiter leaves its CPU for HF_YIELDS_NS, and until it has it again. No timed sleep
//     is longer than those before it and the first one together: so the waiter comes too late by no more than it would
//     have polled in vain.
//
// Where threads of its own process want the CPU (hf_cpu_wanted_by in lock/wait/turn.h) a waiter is in the way of all of
// them: of those that work, and of those that wait for the lock and have waited for longer. The scheduler would give
// them the CPU after a slice of milliseconds. So it yields at each sample that does not get it the lock, whether it
// would defer or finds the word held; a switch takes a microsecond or two. A yield that took 2 ms and more was to a
// thread that does not give the CPU away: then it polls for as long before the next one, and for longer beside another
// process (hf_turn_begin_after_yield).
//
// wait.P4  A waiter that has yielded takes the word when it is FREE. Yields count in wait.P3.
//
// A woken waiter may sleep briefly before it competes again, where that gets the lock released more often
// (lock_history.h): its owner, which has just called the kernel to wake it, goes on alone, and calls nobody else, since
// the other sleepers are not announced any more. The waiter is the designated waker for them:
//
// wait.P5  A designated waker sleeps once, as shortly as timers can, and only if its wait was shorter than
//     HF_DESIGNATED_WAIT_NS: with many threads its turn comes late enough. Then it takes the word, polls for
//     HF_DESIGNATED_POLL_NS at most, or announces sleepers again, as any woken waiter does (word.I2). Its timed sleep
//     counts in wait.P3. Where threads poll under locks (hf_turns_end in lock/wait/turn.h) it does not sleep: there a
//     lock's releases are no measure of work.
#ifndef HF_LOCK_WAIT_YIELD_POLICY_H
#define HF_LOCK_WAIT_YIELD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "hint/hint.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/waiter_queue.h"
#include "observe/observation.h"
#include "park/timed_sleep.h"

#ifdef __cplusplus
extern "C" {
#endif

// May a thread inside `depth` locks yield? Not while others may wait for a further lock that it holds, or stand behind
// it in a queue (a signal handler's interrupted wait). A waiter with a deadline does not yield either.
static inline bool hf_may_yield(const struct hf_thread_record *self, uint32_t depth) {
    return self->critical.critical_depth == depth && hf_queue_may_enter(self);
}

// The timed sleeps and yields of one wait so far.
struct hf_yields {
    uint64_t slept_ns;
    uint32_t last_ns; // the length that the last one was to have; 0: there was none
    bool limited;     // CPU time is (hf_cpu_time_is_limited)
};

static inline struct hf_yields hf_yields_begin(bool may_yield) {
    return (struct hf_yields){
        .slept_ns = may_yield ? 0 : (uint64_t)HF_YIELDS_NS, .last_ns = 0, .limited = hf_cpu_time_is_limited()};
}

static inline bool hf_yields_are_left(const struct hf_yields *yields) {
    return yields->slept_ns < HF_YIELDS_NS;
}

// The length of the next one.
static inline uint32_t hf_yields_next_sleep(struct hf_yields *yields) {
    uint32_t twice = 2 * yields->last_ns;
    if (twice < HF_YIELD_FIRST_NS)
        twice = HF_YIELD_FIRST_NS;
    uint32_t longest = yields->limited ? HF_YIELD_FIRST_NS : HF_YIELD_LONGEST_NS;
    yields->last_ns = twice < longest ? twice : longest;
    return yields->last_ns;
}

// It took as long as this.
static inline void hf_yields_slept(struct hf_yields *yields, uint64_t slept_ns) {
    yields->slept_ns += slept_ns;
}

static inline void hf_timed_sleep_in_wait(struct hf_wait *wait, uint32_t sleep_ns) {
    hf_count(wait->self, blocked);
    hf_wait_falls_asleep(wait);
    hf_timed_sleep(sleep_ns);
    hf_wait_awakes(wait);
}

#ifdef __cplusplus
}
#endif

#endif
