// SPDX-License-Identifier: MIT OR Apache-2.0
// The spin history of a barrier, or of a condition variable: in which of its rounds waiters spin. The hint tells of
// preempted lock holders; a thread that has not come to a barrier holds no lock, and may wait for a CPU that another
// process has, and a thread that is to signal may have nothing to signal for a long time. So whether to spin is tried.
//
//                   a spin in vain                         n rounds later
//     EACH ROUND ----------------------> NO ROUND, n is 1 ------------------> ONE ROUND
//         ^                                  ^                                |   |
//         |                                  +------ in vain: n is 2n + 1 ----+   |
//         +------------- somebody spun, and saw the round's end ------------------+
//
// Advice: any thread stores, and the last one to do so is right. No more than HF_SPIN_SKIPPED_MAX rounds are
// skipped.
// Test: tests/lock/wait/spin_history_test.
#ifndef HF_LOCK_WAIT_SPIN_HISTORY_H
#define HF_LOCK_WAIT_SPIN_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "lock/wait/tuning.h"

struct hf_spin_history {
    uint32_t next;    // the first round after those that are skipped
    uint32_t skipped; // how many were skipped last; 0: the last spin was good
};

static inline struct hf_spin_history hf_spin_history_begin(void) {
    return (struct hf_spin_history){.next = 0, .skipped = 0};
}

// Rounds wrap. What lies further ahead than can be skipped is long past.
static inline bool hf_spin_history_may_spin(const struct hf_spin_history *spin, uint32_t round) {
    return hf_load_relaxed(&spin->next) - round - 1 > HF_SPIN_SKIPPED_MAX;
}

// The caller spun in this round, and saw its end.
static inline void hf_spin_history_was_good(struct hf_spin_history *spin, uint32_t round) {
    if (hf_load_relaxed(&spin->skipped) == 0)
        return;
    hf_store_relaxed(&spin->skipped, 0);
    hf_store_relaxed(&spin->next, round + 1);
}

// The caller spun in this round until its budget was spent. The first to say so in a round is heard.
static inline void hf_spin_history_was_vain(struct hf_spin_history *spin, uint32_t round) {
    if (!hf_spin_history_may_spin(spin, round))
        return;
    uint32_t skipped = 2 * hf_load_relaxed(&spin->skipped) + 1;
    skipped = skipped < HF_SPIN_SKIPPED_MAX ? skipped : (uint32_t)HF_SPIN_SKIPPED_MAX;
    hf_store_relaxed(&spin->skipped, skipped);
    hf_store_relaxed(&spin->next, round + 1 + skipped);
}

#endif
