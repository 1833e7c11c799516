// SPDX-License-Identifier: MIT OR Apache-2.0
// A sample: what a waiter sees of the lock, of its CPU and of the time when it decides what to do next (next_step.h).
// Nothing else of the world goes into that.
#ifndef HF_LOCK_WAIT_WAIT_SAMPLE_H
#define HF_LOCK_WAIT_WAIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "hint/hint.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/turn.h"
#include "lock/wait/yield_policy.h"

// What the waiter's place does not ask for is 0.
struct hf_wait_sample {
    bool spins;     // BEGIN: spinning pays, and a queue may be entered; QUEUE, HEAD, DESIGNATED: the budget lasts
    bool is_head;   // of the queue
    bool is_free;   // the word
    bool turns_end; // WOKEN, SLEEP_END, YIELD_END: threads poll under locks (hf_turns_end)
    bool in_storm;  // nothing is known of preemptions (hf_is_in_switch_storm)
    enum hf_cpu_contention cpu;
    uint32_t threads; // of the process: so many releases are a fair lock's; 0: the waiter claims nothing
    hf_release_count releases;
    uint64_t now_ns; // CLOCK_MONOTONIC
};

static inline void hf_sample_releases(struct hf_wait_sample *sample, const hf_release_count *releases) {
    sample->now_ns = hf_monotonic_ns();
    sample->releases = hf_load_relaxed(releases);
}

// At the sample's time, where the waiter may leave its CPU. One that has left it for long keeps it for as long: to its
// samples nobody wants it then.
static inline void hf_sample_cpu(struct hf_wait_sample *sample, const struct hf_thread_record *self,
                                 const struct hf_yields *yields) {
    if (hf_yields_are_left(yields) && hf_turn_has_begun(&self->turn, sample->now_ns))
        sample->cpu = hf_cpu_wanted_by(sample->now_ns);
}

// The thread has left its CPU to others: its next turn begins.
static inline void hf_sample_after_sleep(struct hf_wait_sample *sample, struct hf_thread_record *self,
                                         const hf_release_count *releases) {
    hf_sample_releases(sample, releases);
    sample->turns_end = hf_turns_end(sample->now_ns);
    hf_turn_begin(&self->turn, sample->now_ns);
}

static inline void hf_sample_after_yield(struct hf_wait_sample *sample, struct hf_thread_record *self,
                                         const hf_release_count *releases, uint64_t since_ns) {
    hf_sample_after_sleep(sample, self, releases);
    hf_turn_begin_after_yield(&self->turn, since_ns, sample->now_ns);
}

#endif
