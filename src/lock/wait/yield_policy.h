// SPDX-License-Identifier: MIT OR Apache-2.0
// Who polls for a hot lock on a CPU that others want leaves it to them for a while, where batches pay.
//
// With as many threads as CPUs, a waiter that polls while the owner works costs nothing. Beside other processes it
// costs its own process's share of the CPU: the scheduler counts the time that it polls as time that it worked. To
// sleep on the word costs more: its owner, which takes the lock again some ten nanoseconds later, calls the kernel at
// each release. So the waiter naps, and tells nobody.
//
//     +-------+   hot, left to its owner, on a shared CPU    +------+
//     | polls | -------------------------------------------> | naps | <-+  released, and within a turn:
//     +-------+ <------------------------------------------- +------+ --+  twice as long as before
//        takes the word when it is FREE: its slice is over
//
// A turn is the time for which a lock that is hot stays where it is once a napper has got it (lock_history.h). So
// however many nap, it moves to another CPU once in a turn.
//
// P3  Bounded. In one wait a waiter naps for HF_NAPS_NS, and until its last nap ends. No nap is longer than those
//     before it and the first one together: so it comes too late by no more than it would have polled in vain.
//
// Where it is threads of its own process that want the CPU, polling costs the process nothing, but those that wait for
// the lock too: the scheduler gives them the CPU after a slice of milliseconds, so with many threads on each CPU a wait
// is as many slices. So who has come to hot locks for a spell (thread/contention_episode.h) steps aside: it naps once,
// for as short a time as timers can, some 100 us, and the next one has its turn.
//
// P4  Who steps aside does so once in a spell. Then it takes the word when it is FREE.
//
// Who slept on the word and was woken may nap, too, where that gets the lock released more often (lock_history.h):
// its owner, which has just called the kernel to wake it, goes on alone, and calls nobody else, since the others asleep
// are not announced any more. It stands by for them:
//
// P5  Who stands by naps once, as shortly as timers can, and only if it has slept for less than HF_STAND_BY_WAIT_NS:
//     with many threads its turn comes late enough. Then it takes the word, polls for HF_STAND_BY_POLL_NS at most, or
//     announces sleepers again, as any that was woken (I2). Its naps count in P3.
#ifndef HF_LOCK_FLEXGUARD_NAP_H
#define HF_LOCK_FLEXGUARD_NAP_H

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

// docs/flexguard.md, "On a CPU that others want".
enum {
    HF_FIRST_NAP_NS = 250 * 1000,
    HF_LONGEST_NAP_NS = 4 * 1000 * 1000, // a scheduler's slice: so long who wants a shared CPU waits for it anyway
    HF_NAPS_NS = 32 * 1000 * 1000,       // in one wait
    HF_STEP_ASIDE_NS = 50 * 1000,
    HF_STAND_BY_NS = 50 * 1000,
    HF_STAND_BY_WAIT_NS = 4 * 1000 * 1000,
    HF_STAND_BY_POLL_NS = 4 * 1000, // a release comes in that time, or the owner is not back soon
};

// May who is inside `depth` locks nap? Not while others may wait for a further one that it holds, or stand behind it in
// a queue (a signal handler's interrupted wait). Who has a deadline does not nap either.
static inline bool hf_may_nap(const struct hf_thread_record *self, uint32_t depth) {
    return self->critical.critical_depth == depth && hf_queue_may_enter(self);
}

// What a wait has napped so far.
struct hf_naps {
    uint64_t slept_ns;
    uint32_t last_ns; // the length that the last nap was to have; 0: there was none
};

static inline struct hf_naps hf_naps_begin(bool may_nap) {
    return (struct hf_naps){.slept_ns = may_nap ? 0 : (uint64_t)HF_NAPS_NS, .last_ns = 0};
}

static inline bool hf_naps_are_left(const struct hf_naps *naps) {
    return naps->slept_ns < HF_NAPS_NS;
}

// The length of the next nap.
static inline uint32_t hf_naps_next(struct hf_naps *naps) {
    uint32_t twice = 2 * naps->last_ns;
    if (twice < HF_FIRST_NAP_NS)
        twice = HF_FIRST_NAP_NS;
    naps->last_ns = twice < HF_LONGEST_NAP_NS ? twice : (uint32_t)HF_LONGEST_NAP_NS;
    return naps->last_ns;
}

// It was as long as this.
static inline void hf_naps_ended(struct hf_naps *naps, uint64_t slept_ns) {
    naps->slept_ns += slept_ns;
}

static inline void hf_nap_in_wait(struct hf_wait *wait, uint32_t nap_ns) {
    hf_count(wait->self, blocked);
    hf_wait_falls_asleep(wait);
    hf_nap(nap_ns);
    hf_wait_awakes(wait);
}

// P5: a thread was woken that fell asleep at `since_ns`. Whether it has napped.
bool hf_stands_by(const hf_release_count *releases, uint64_t since_ns, struct hf_naps *naps, struct hf_wait *wait)
    __attribute__((visibility("hidden")));

// Whom who has left a hot lock to its owner should leave the CPU to as well; HF_CPU_ALONE: nobody. `releases`, here and
// below: where the lock's are counted, by which it has its trial.
enum hf_cpu_company hf_company_to_leave_cpu_to(const struct hf_naps *naps, const struct hf_thread_record *self,
                                               const hf_release_count *releases) __attribute__((visibility("hidden")));

// Naps, until it is time to look at the lock again, which is to be done at this pace.
struct hf_pace hf_leave_cpu_to(enum hf_cpu_company company, const hf_release_count *releases, struct hf_naps *naps,
                               struct hf_wait *wait) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
