// SPDX-License-Identifier: MIT OR Apache-2.0
// In which of a barrier's rounds its waiters spin; and at which of the waits for a condition variable. The hint tells
// of preempted lock holders; who has not come to a barrier holds no lock, and may wait for a CPU that another process
// has, and who is to signal may have nothing to signal for a long time. So whether to spin is tried.
//
//                   a spin in vain                         n rounds later
//     EACH ROUND ----------------------> NO ROUND, n is 1 ------------------> ONE ROUND
//         ^                                  ^                                |   |
//         |                                  +------ in vain: n is 2n + 1 ----+   |
//         +------------- somebody spun, and saw the round's end ------------------+
//
// Advice: any thread stores, and the last one to do so is right. A rest is never longer than HF_SPIN_REST_MAX rounds.
// Test: tests/lock/wait/spin_history_test.
#ifndef HF_LOCK_SPIN_ROUNDS_H
#define HF_LOCK_SPIN_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

// A spin in vain is as long as some short rounds: it is to cost no more than a hundredth of them.
enum { HF_SPIN_REST_MAX = 255 };

struct hf_spin_rounds {
    uint32_t next; // the first round after a rest
    uint32_t rest; // how long the last one was; 0: the last spin was good
};

static inline struct hf_spin_rounds hf_spin_rounds_begin(void) {
    return (struct hf_spin_rounds){.next = 0, .rest = 0};
}

// Rounds wrap. What lies further ahead than a rest can is long past.
static inline bool hf_spin_rounds_may_spin(const struct hf_spin_rounds *spin, uint32_t round) {
    return hf_load_relaxed(&spin->next) - round - 1 > HF_SPIN_REST_MAX;
}

// The caller spun in this round, and saw its end.
static inline void hf_spin_rounds_was_good(struct hf_spin_rounds *spin, uint32_t round) {
    if (hf_load_relaxed(&spin->rest) == 0)
        return;
    hf_store_relaxed(&spin->rest, 0);
    hf_store_relaxed(&spin->next, round + 1);
}

// The caller spun in this round until it had no more patience. The first to say so in a round is heard.
static inline void hf_spin_rounds_was_vain(struct hf_spin_rounds *spin, uint32_t round) {
    if (!hf_spin_rounds_may_spin(spin, round))
        return;
    uint32_t rest = 2 * hf_load_relaxed(&spin->rest) + 1;
    rest = rest < HF_SPIN_REST_MAX ? rest : (uint32_t)HF_SPIN_REST_MAX;
    hf_store_relaxed(&spin->rest, rest);
    hf_store_relaxed(&spin->next, round + 1 + rest);
}

#endif
