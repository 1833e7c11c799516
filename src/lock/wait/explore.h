// SPDX-License-Identifier: MIT OR Apache-2.0
// A choice between two ways for a lock's waiters, by measurement: they go one, then the other, a window at a time, and
// then mostly the one in whose windows the lock was released more often.
//
// A window for the way that does worse costs what it does worse. So the more such windows have been as bad as expected,
// the fewer there are.
//
// Advice, as all that is made of it: two that learn at once may spoil a window.
#ifndef HF_LOCK_TWO_WAYS_H
#define HF_LOCK_TWO_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

enum {
    // Of so many windows one is for the way that does worse, which may have become the better one: of the first number
    // at least (or as many as the caller says), and of twice as many after each that was as bad as expected.
    HF_TWO_WAYS_PERIOD_MIN = 16,
    HF_TWO_WAYS_PERIOD_MAX = 256,
};

struct hf_two_ways {
    uint32_t rate[2];      // releases in a millisecond, and one; the last window's a quarter of it; 0: not known
    uint16_t period;       // from one window for the way that does worse to the next
    uint16_t windows_left; // until the next
    uint8_t way;           // of this window: 0 or 1
    uint8_t period_min;    // of `period`
    uint8_t handicap;      // the second way counts as the better one if it is better by more than so many eighths
};

static inline unsigned hf_two_ways_now(const struct hf_two_ways *ways) {
    return hf_load_relaxed(&ways->way) % 2;
}

static inline uint32_t hf_two_ways_rate(const struct hf_two_ways *ways, unsigned way) {
    return hf_load_relaxed(&ways->rate[way]);
}

static inline void hf_two_ways_set_period(struct hf_two_ways *ways, unsigned windows) {
    hf_store_relaxed(&ways->period, (uint16_t)windows);
    hf_store_relaxed(&ways->windows_left, (uint16_t)windows);
}

static inline bool hf_is_more_by_eighths(uint64_t rate, uint64_t other, unsigned eighths) {
    return 8 * rate > (8 + eighths) * other;
}

static inline unsigned hf_two_ways_better_of(const struct hf_two_ways *ways, uint32_t first, uint32_t second) {
    return hf_is_more_by_eighths(second, first, hf_load_relaxed(&ways->handicap));
}

// Both are known.
static inline unsigned hf_two_ways_better(const struct hf_two_ways *ways) {
    return hf_two_ways_better_of(ways, hf_two_ways_rate(ways, 0), hf_two_ways_rate(ways, 1));
}

// Is this window for a way that is not known to be the better one?
static inline bool hf_two_ways_tries(const struct hf_two_ways *ways) {
    unsigned way = hf_two_ways_now(ways);
    return hf_two_ways_rate(ways, way) == 0 ||
           (hf_two_ways_rate(ways, 1 - way) != 0 && way != hf_two_ways_better(ways));
}

// Nothing is known; the first window's way is `first`.
static inline void hf_two_ways_begin(struct hf_two_ways *ways, unsigned first, unsigned handicap, unsigned period_min) {
    hf_store_relaxed(&ways->handicap, (uint8_t)handicap);
    hf_store_relaxed(&ways->period_min, (uint8_t)period_min);
    hf_store_relaxed(&ways->rate[0], 0);
    hf_store_relaxed(&ways->rate[1], 0);
    hf_two_ways_set_period(ways, period_min);
    hf_store_relaxed(&ways->way, (uint8_t)first);
}

static inline unsigned hf_two_ways_longer_period(const struct hf_two_ways *ways) {
    unsigned twice = 2U * hf_load_relaxed(&ways->period);
    return twice < HF_TWO_WAYS_PERIOD_MAX ? twice : (unsigned)HF_TWO_WAYS_PERIOD_MAX;
}

// A window has ended: adds its rate to what is known of its way.
static inline void hf_two_ways_learn(struct hf_two_ways *ways, uint32_t rate) {
    unsigned way = hf_two_ways_now(ways);
    uint32_t before = hf_two_ways_rate(ways, way), other = hf_two_ways_rate(ways, 1 - way);
    if (before != 0 && other != 0 && way != hf_two_ways_better(ways)) {
        unsigned better =
            way == 0 ? hf_two_ways_better_of(ways, rate, other) : hf_two_ways_better_of(ways, other, rate);
        hf_two_ways_set_period(ways,
                               way != better ? hf_two_ways_longer_period(ways) : hf_load_relaxed(&ways->period_min));
    }
    hf_store_relaxed(&ways->rate[way], before == 0 ? rate : before - before / 4 + rate / 4);
}

static inline unsigned hf_two_ways_choose(struct hf_two_ways *ways) {
    uint32_t first = hf_two_ways_rate(ways, 0), second = hf_two_ways_rate(ways, 1);
    if (first == 0 || second == 0)
        return first != 0;
    uint16_t windows_left = hf_load_relaxed(&ways->windows_left);
    bool worse = windows_left == 0;
    hf_store_relaxed(&ways->windows_left, worse ? hf_load_relaxed(&ways->period) : (uint16_t)(windows_left - 1));
    return (hf_two_ways_better(ways) == 1) != worse;
}

// The next window begins. Returns its way.
static inline unsigned hf_two_ways_go_on(struct hf_two_ways *ways) {
    unsigned way = hf_two_ways_choose(ways);
    hf_store_relaxed(&ways->way, (uint8_t)way);
    return way;
}

#endif
