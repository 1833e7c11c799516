// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread's turn on its CPU: for how long it has used that for locks alone.
//
// A thread that takes and gives back locks all the time, say to look for work that others are to do, never waits. So no
// rule for waiters is asked, and the thread keeps its CPU until the scheduler takes it away, milliseconds later. The
// threads that could do that work are kept from the CPU meanwhile. To the kernel it works as any other does; its locks
// know better:
//
//                   a look that finds that it does other things
//              +-----------------------------------------------------------------------------+
//              v                                                                             |
//     a turn begins ----> HF_TURN_US of locks alone ----> others want the CPU? -- no --> a turn begins
//              ^                                                | yes
//              +------------------- yields ---------------------+
//
// It does other things if the last look is longer ago than a turn, if it has signalled a condition variable, or if it
// has slept for a lock: it has work for others, which they get no sooner if it stops, or others have had its CPU. A
// bounded queue between threads that do little else is twice as slow if they have turns (docs/interposer-figures.md).
//
// It looks at each HF_LOOKS_APART-th acquisition that meets nobody, when it gives that lock back. That costs the other
// acquisitions nothing: the comparison is the one by which acquisitions are noted (observe/observation.h). A switch
// takes some 2 us, so yields cost 4% at most. Where all that is wanted of the CPU is the lock itself, the next thread
// has its turn, which is shorter than a scheduler's slice.
//
// Whether others want the CPU: hf_cpu_wanted_by. Waiters of hot locks ask it, too (lock/wait/yield_policy.h).
//
// turn.Y1  A thread that yields here holds no lock, stands in no queue, and owes nobody a wake.
// Test: tests/lock/wait/turn_test.
#ifndef HF_LOCK_WAIT_TURN_H
#define HF_LOCK_WAIT_TURN_H

#include <stdbool.h>

#include "base/clock.h"
#include "hint/hint.h"
#include "lock/wait/tuning.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t hf_turn_time(uint64_t ns) {
    return (uint32_t)(ns / 1000);
}

// `now_ns`, here and below: CLOCK_MONOTONIC.
static inline void hf_turn_begin(struct hf_turn *turn, uint64_t now_ns) {
    hf_store_relaxed(&turn->began_us, hf_turn_time(now_ns));
    hf_store_relaxed(&turn->looked_us, hf_turn_time(now_ns));
}

static inline bool hf_turn_is_over(const struct hf_turn *turn, uint64_t now_ns) {
    return (int32_t)(hf_turn_time(now_ns) - hf_load_relaxed(&turn->began_us)) >= HF_TURN_US;
}

// The thread has yielded. After a long time: whoever had the CPU does not give it away, and may be another process,
// which the kernel gives its part in any case, and by the yield what the own process had left of a slice. The turn is
// as much longer; beside another process so much longer that yields to it cost little.
static inline void hf_turn_begin_after_yield(struct hf_turn *turn, uint64_t since_ns, uint64_t now_ns) {
    uint64_t took_ns = hf_ns_since(since_ns, now_ns);
    hf_turn_begin(turn, now_ns);
    if (took_ns < HF_TURN_LONG_YIELD_US * UINT64_C(1000))
        return;
    unsigned as_long = hf_cpu_contention(now_ns) == HF_CPU_FOREIGN ? HF_TURN_BESIDE_FOREIGN : 1;
    uint64_t makes_up_ns = as_long * took_ns, most_ns = HF_TURN_MAKES_UP_US_MAX * UINT64_C(1000);
    hf_store_relaxed(&turn->began_us, hf_turn_time(now_ns + (makes_up_ns < most_ns ? makes_up_ns : most_ns)));
}

// False while a long yield is made up for. What lies further ahead is no begin: a thread's first turn has none, and its
// last one may be half of an hour ago, when the time in microseconds has started again.
static inline bool hf_turn_has_begun(const struct hf_turn *turn, uint64_t now_ns) {
    uint32_t ahead_us = hf_load_relaxed(&turn->began_us) - hf_turn_time(now_ns);
    return ahead_us == 0 || ahead_us > HF_TURN_MAKES_UP_US_MAX;
}

// A look: is the turn over? If it is not, it goes on, or begins anew for a thread that works besides.
static inline bool hf_turn_ends(struct hf_turn *turn, uint64_t now_ns) {
    uint32_t since_us = hf_turn_time(now_ns) - hf_load_relaxed(&turn->looked_us);
    if (since_us > HF_TURN_US && hf_turn_has_begun(turn, now_ns))
        hf_turn_begin(turn, now_ns);
    hf_store_relaxed(&turn->looked_us, hf_turn_time(now_ns));
    return hf_turn_is_over(turn, now_ns);
}

// Who wants the caller's CPU, as far as is known. Threads of the own process do as soon as there are more of them than
// CPUs, whatever the monitor says: it tells who did at the CPU's last switch, hence nothing of a thread that was woken
// since, or waits for another CPU; and of its own threads a process keeps the CPU from the more, the more other
// processes want it, too. Where the kernel finds nobody a yield is a call that does nothing. Otherwise the monitor
// decides: time that is left to other processes is lost to the own one.
enum hf_cpu_contention hf_cpu_wanted_by(uint64_t now_ns) __attribute__((visibility("hidden")));

// Have threads of the process ended turns lately, so that others of it got the CPU? They poll under locks. Then how
// often a lock is released does not tell how much is done: pollers release it the more often, the longer those sleep
// that have work to do.
bool hf_turns_end(uint64_t now_ns) __attribute__((visibility("hidden")));

// The caller has just given back the lock at whose acquisition it was to look.
void hf_turn_look(struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
