// SPDX-License-Identifier: MIT OR Apache-2.0
// What a waiter does next: one pure function of where the waiter stands, of what is known of the lock, and of one
// sample. It reads no clock and no lock word, calls nobody, and stores to its state and to the lock's history alone.
// The lock samples what the waiter's place asks for, asks, and carries the step out (flexguard/flexguard.c,
// posix/read_write_batch.c).
//
//     place          sample                   next
//     BEGIN          does spinning pay?       yes: ENTER, to QUEUE; no: to LOCK
//     QUEUE          budget; is it the head?  budget spent: LEAVE, to LOCK; head: PAUSE, to HEAD; else PAUSE
//     HEAD           budget; word, releases   budget spent: LEAVE, to LOCK; else by defer_policy.h PAUSE (it defers, or
//                                             the word is held), TAKE or ANNOUNCE
//     LOCK           releases                 is sampling of use (lock_history.h)? PAUSE, to SECOND_SAMPLE; else to
//                                             ADAPTIVE, if that is known and the mutex is an adaptive one; else to END
//     SECOND_SAMPLE  releases                 released meanwhile: to HOT; else to ADAPTIVE or END
//     ADAPTIVE       word                     TAKE or PAUSE; to END, when the polls are used up
//     HOT            word, releases; who      as HEAD; but where that is a PAUSE, and the lock is hot, and others want
//                    wants the CPU?           the CPU: another process, and batches pay: TIMED_SLEEP, to SLEEP_END; its
//                                             own: YIELD, to YIELD_END; not hot any more (wait.P2), or the polls are
//                                             used up: to END, after this step
//     SLEEP_END      releases                 another TIMED_SLEEP (yield_policy.h), or PAUSE, to HOT
//     YIELD_END      releases                 PAUSE, to HOT
//     END            nothing                  BLOCK, to WOKEN
//     WOKEN          how long did it sleep?   the designated waker: TIMED_SLEEP, to DESIGNATED_SLEEP_END; else to BEGIN
//                    do turns end?
//     DESIGNATED_SLEEP_END  releases          to DESIGNATED
//     DESIGNATED     is its time over? word   over: to BEGIN; else TAKE or PAUSE
//
// A sample of HEAD, HOT or WOKEN that finds the waiter overdue is followed by CLAIM, whatever else it says (wait.P6,
// defer_policy.h): the waiter leaves the queue and has the lock handed over to it (park/claims.h).
//
// "To" without a step is SAMPLE: the next sample is taken at once. A TAKE, an ANNOUNCE or a BLOCK may end the wait with
// the lock held; a TAKE or an ANNOUNCE that does not is a PAUSE.
//
// Test: tests/lock/wait/next_step_test, a table of places and samples.
#ifndef HF_LOCK_WAIT_NEXT_STEP_H
#define HF_LOCK_WAIT_NEXT_STEP_H

#include "lock/wait/defer_policy.h"
#include "lock/wait/lock_history.h"
#include "lock/wait/wait_sample.h"
#include "lock/wait/yield_policy.h"
#include "observe/counted_steps.h"
#include "park/yield.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_wait_place {
    HF_AT_BEGIN,
    HF_AT_QUEUE,
    HF_AT_HEAD,
    HF_AT_LOCK,
    HF_AT_SECOND_SAMPLE,
    HF_AT_ADAPTIVE,
    HF_AT_HOT,
    HF_AT_SLEEP_END,
    HF_AT_YIELD_END,
    HF_AT_END,
    HF_AT_WOKEN,
    HF_AT_DESIGNATED_SLEEP_END,
    HF_AT_DESIGNATED,
};

enum hf_wait_step {
    HF_WAIT_SAMPLE,      // take the next sample at once
    HF_WAIT_PAUSE,       // after so many `pauses`
    HF_WAIT_TAKE,        // try to take the word
    HF_WAIT_ANNOUNCE,    // take the word if it is free; else announce a sleeper, and go on polling
    HF_WAIT_ENTER,       // the queue
    HF_WAIT_LEAVE,       // the queue, without the lock
    HF_WAIT_YIELD,       // the CPU to threads of the own process
    HF_WAIT_TIMED_SLEEP, // for `sleep_ns`: a timed sleep, unannounced
    HF_WAIT_CLAIM,       // the lock, until it is the waiter's
    HF_WAIT_BLOCK,       // on the word, until an unlock wakes the waiter
};

struct hf_wait_state {
    enum hf_wait_place place;
    int pauses; // before the next sample
    int polls;  // of the hot lock, or of an adaptive mutex
    struct hf_defer defer;
    struct hf_yields yields;
    uint64_t began_ns;         // the wait
    hf_release_count seen;     // releases when it began
    uint64_t since_ns;         // when it left its CPU; 0, or when it began to poll as the designated waker
    hf_release_count releases; // when it began to leave its CPU to others
    bool has_work;             // its thread does, besides taking locks (pace.h): it defers to nobody
    bool is_adaptive;          // it polls a slow lock, too, before it sleeps for the first time
    bool defers_to_hot_alone;  // a reader-writer lock's, which announces nothing either
    uint32_t sleep_ns;
};

// Members that are not named are 0. Not by a list of the others: of such a list C++ compilers warn.
static inline struct hf_wait_state hf_wait_state_begin(struct hf_yields yields, hf_release_count releases,
                                                       uint64_t now_ns) {
    struct hf_wait_state state = {};
    state.place = HF_AT_BEGIN;
    state.yields = yields;
    state.began_ns = now_ns;
    state.seen = releases;
    return state;
}

// At the hot lock, of one that has no queue and whose history is not asked whether it is hot: a reader-writer lock.
static inline struct hf_wait_state hf_wait_state_begin_hot(hf_release_count releases, uint64_t now_ns) {
    struct hf_wait_state state = {};
    state.place = HF_AT_HOT;
    state.pauses = HF_HOT_PAUSES;
    state.defer = hf_defer_begin(releases, now_ns, HF_DEFER_SLICE_NS);
    state.defers_to_hot_alone = true;
    return state;
}

// A word that was found FREE at HEAD or HOT: is it to be taken before the clock is read, which would be time for the
// owner to come back? If that fails the word is held, for the sample.
static inline bool hf_wait_takes_at_once(const struct hf_wait_state *state, hf_release_count releases) {
    return hf_defer_barges_at_once(&state->defer, releases);
}

// The designated waker polls for HF_DESIGNATED_POLL_NS from this question on: does it still?
static inline bool hf_wait_polls_as_designated(struct hf_wait_state *state, uint64_t now_ns) {
    if (state->since_ns == 0)
        state->since_ns = now_ns;
    return hf_ns_since(state->since_ns, now_ns) < HF_DESIGNATED_POLL_NS;
}

// `lock`: what the history is found by.
enum hf_wait_step hf_wait_next(struct hf_wait_state *state, struct hf_lock_history *history, const void *lock,
                               const struct hf_wait_sample *sample) __attribute__((visibility("hidden")));

// A timed sleep that can't be: the waiter keeps its CPU, and goes on as after a yield to nobody.
static inline void hf_wait_keeps_cpu(struct hf_wait_state *state) {
    state->place = HF_AT_YIELD_END;
}

// The two steps that every lock carries out alike.
static inline void hf_wait_yield(void) {
    hf_count_step(HF_COUNTED_YIELDED);
    hf_yield();
}

static inline void hf_wait_timed_sleep(struct hf_wait *wait, const struct hf_wait_state *state) {
    hf_count_step(state->place == HF_AT_DESIGNATED_SLEEP_END ? HF_COUNTED_DESIGNATED : HF_COUNTED_SLEPT);
    hf_timed_sleep_in_wait(wait, state->sleep_ns);
}

// The lock was acquired: by a waiter that has slept for the hot one (HF_WAIT_TIMED_SLEEP)?
static inline bool hf_wait_begins_turn(const struct hf_wait_state *state) {
    return (state->place == HF_AT_HOT || state->place == HF_AT_END) && state->yields.last_ns != 0;
}

#ifdef __cplusplus
}
#endif

#endif
