// SPDX-License-Identifier: MIT OR Apache-2.0
// Explore and exploit: a choice between two arms, two ways of waiting for one lock, by measurement. Its waiters use one
// arm, then the other, a window of time each, and then mostly the one in whose windows the lock was released more
// often.
//
// A window for the worse arm costs what that arm is worse. So the more such windows have been as bad as expected, the
// fewer there are.
//
// Advice, as all that is made of it: two threads that learn at once may spoil a window.
#ifndef HF_LOCK_WAIT_EXPLORE_H
#define HF_LOCK_WAIT_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "lock/wait/tuning.h"

struct hf_explore {
    uint32_t rate[2];      // releases in a millisecond, and one; the last window's a quarter of it; 0: not known
    uint16_t period;       // from one window for the worse arm to the next
    uint16_t windows_left; // until the next
    uint8_t arm;           // of this window: 0 or 1
    uint8_t period_min;    // of `period`
    uint8_t hysteresis;    // the second arm counts as the better one if it is better by more than so many eighths
};

static inline unsigned hf_explore_arm(const struct hf_explore *explore) {
    return hf_load_relaxed(&explore->arm) % 2;
}

static inline uint32_t hf_explore_rate(const struct hf_explore *explore, unsigned arm) {
    return hf_load_relaxed(&explore->rate[arm]);
}

static inline void hf_explore_set_period(struct hf_explore *explore, unsigned windows) {
    hf_store_relaxed(&explore->period, (uint16_t)windows);
    hf_store_relaxed(&explore->windows_left, (uint16_t)windows);
}

static inline bool hf_is_more_by_eighths(uint64_t rate, uint64_t other, unsigned eighths) {
    return 8 * rate > (8 + eighths) * other;
}

static inline unsigned hf_explore_better_of(const struct hf_explore *explore, uint32_t first, uint32_t second) {
    return hf_is_more_by_eighths(second, first, hf_load_relaxed(&explore->hysteresis));
}

// Both are known.
static inline unsigned hf_explore_better(const struct hf_explore *explore) {
    return hf_explore_better_of(explore, hf_explore_rate(explore, 0), hf_explore_rate(explore, 1));
}

// Is this window for an arm that is not known to be the better one?
static inline bool hf_explore_is_exploring(const struct hf_explore *explore) {
    unsigned arm = hf_explore_arm(explore);
    return hf_explore_rate(explore, arm) == 0 ||
           (hf_explore_rate(explore, 1 - arm) != 0 && arm != hf_explore_better(explore));
}

// Nothing is known; the first window's arm is `first`.
static inline void hf_explore_begin(struct hf_explore *explore, unsigned first, unsigned hysteresis,
                                    unsigned period_min) {
    hf_store_relaxed(&explore->hysteresis, (uint8_t)hysteresis);
    hf_store_relaxed(&explore->period_min, (uint8_t)period_min);
    hf_store_relaxed(&explore->rate[0], 0);
    hf_store_relaxed(&explore->rate[1], 0);
    hf_explore_set_period(explore, period_min);
    hf_store_relaxed(&explore->arm, (uint8_t)first);
}

static inline unsigned hf_explore_longer_period(const struct hf_explore *explore) {
    unsigned twice = 2U * hf_load_relaxed(&explore->period);
    return twice < HF_EXPLORE_PERIOD_MAX ? twice : (unsigned)HF_EXPLORE_PERIOD_MAX;
}

// A window has ended: adds its rate to what is known of its arm.
static inline void hf_explore_learn(struct hf_explore *explore, uint32_t rate) {
    unsigned arm = hf_explore_arm(explore);
    uint32_t before = hf_explore_rate(explore, arm), other = hf_explore_rate(explore, 1 - arm);
    if (before != 0 && other != 0 && arm != hf_explore_better(explore)) {
        unsigned better =
            arm == 0 ? hf_explore_better_of(explore, rate, other) : hf_explore_better_of(explore, other, rate);
        hf_explore_set_period(explore, arm != better ? hf_explore_longer_period(explore)
                                                     : hf_load_relaxed(&explore->period_min));
    }
    hf_store_relaxed(&explore->rate[arm], before == 0 ? rate : before - before / 4 + rate / 4);
}

static inline unsigned hf_explore_choose(struct hf_explore *explore) {
    uint32_t first = hf_explore_rate(explore, 0), second = hf_explore_rate(explore, 1);
    if (first == 0 || second == 0)
        return first != 0;
    uint16_t windows_left = hf_load_relaxed(&explore->windows_left);
    bool worse = windows_left == 0;
    hf_store_relaxed(&explore->windows_left, worse ? hf_load_relaxed(&explore->period) : (uint16_t)(windows_left - 1));
    return (hf_explore_better(explore) == 1) != worse;
}

// The next window begins. Returns its arm.
static inline unsigned hf_explore_next_window(struct hf_explore *explore) {
    unsigned arm = hf_explore_choose(explore);
    hf_store_relaxed(&explore->arm, (uint8_t)arm);
    return arm;
}

#endif
