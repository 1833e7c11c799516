// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether the waiters of a lock leave its free word to the owner that comes back for it (flexguard_pace.h), or take it.
// What pays depends on how fast lines move between the machine's CPUs, and on what the threads do between two
// sections; so it is tried, one way after the other, and whichever got the lock released more often is kept.
//
//       a window begins                    a look after its end
//     ------------------> +----------------+ ------------------> what is known of its way is brought up to date,
//                         | LEAVE, or TAKE |                     and the next window begins:
//     ------------------> +----------------+                       for a way of which nothing is known;
//                                                                  now and then for the one that does worse;
//                                                                  all others for the one that does better
//
// A window for the way that does worse costs what it does worse. So the more such windows have been as bad as expected,
// the fewer there are.
// A window whose end nobody looked for tells nothing: its owner was preempted, or nobody waited.
//
// A hot lock is left at first. Of one that is not, the word is taken until it is known how often it is released so;
// left only if that is once in some microseconds, else its owner will not be back soon; and not if it comes to be hot
// by being left: then it is for who finds it hot to leave it.
//
// T1  Advice only, as the pace is, whose slice bounds both ways (P1). So nothing here is exact: a trial is found by the
//     lock's address in a table without chains, locks that meet there take turns, and who finds another's goes the
//     way of one of which nothing is known; two that write at once may spoil a window.
#ifndef HF_LOCK_FLEXGUARD_TRIAL_H
#define HF_LOCK_FLEXGUARD_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_hash.h"
#include "base/atomic.h"
#include "lock/flexguard_pace.h"
#include "lock/release_rate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    // Some hundred hand-overs, so that one way does not show in the next one's count.
    HF_TRIAL_WINDOW_NS = 100 * 1000,
    // A look as late as this closes no window. Releases are counted modulo 65536.
    HF_TRIAL_STALE_NS = 1000 * 1000,
    // Of so many windows one is for the way that does worse, which may have become the better one: of the first number
    // at least, and of twice as many after each that was as bad as expected. What has changed is seen in some 25 ms.
    HF_TRIAL_PERIOD_MIN = 16,
    HF_TRIAL_PERIOD_MAX = 256,
    // In a millisecond: so often a lock that is not hot is released at least when it is taken, and at most when it is
    // left.
    HF_TRIAL_RATE_MIN = 300,
    HF_TRIAL_RATE_HOT = 1000 * 1000 / HF_HOT_NS,
    // For so long a lock that somebody has napped for is left to him.
    HF_TRIAL_TURN_NS = 500 * 1000,
};

enum hf_trial_way {
    HF_TRIAL_LEAVE,
    HF_TRIAL_TAKE,
    HF_TRIAL_WAYS,
};

// Zeroed memory is a trial of no lock.
struct hf_trial {
    const void *lock;
    uint64_t since_ns;            // the window's begin
    uint64_t turn_ns;             // when a waiter that had napped got the lock last
    uint32_t rate[HF_TRIAL_WAYS]; // releases in a millisecond, the last window's a quarter of it; 0: not known
    uint16_t period;              // from one window for the way that does worse to the next
    uint16_t windows_left;        // until the next
    hf_release_count seen;        // at the window's begin
    uint8_t way;                  // enum hf_trial_way
    struct hf_release_rate whole; // whatever the way, and of waits that go neither
} __attribute__((aligned(64)));

// So many that locks which are waited for at a time hardly meet; a page for each 64 of them.
enum { HF_TRIALS_BITS = 10 };

extern struct hf_trial hf_trials[1 << HF_TRIALS_BITS] __attribute__((visibility("hidden")));

// `lock`, here and below: where the lock's releases are counted. To who is shown another count it is another lock.
static inline struct hf_trial *hf_trial_of(const void *lock) {
    return &hf_trials[hf_address_hash((uintptr_t)lock, HF_TRIALS_BITS)];
}

static inline void hf_trial_begin_window(struct hf_trial *trial, hf_release_count releases, enum hf_trial_way way) {
    hf_store_relaxed(&trial->seen, releases);
    hf_store_relaxed(&trial->way, (uint8_t)way);
}

static inline void hf_trial_set_period(struct hf_trial *trial, unsigned windows) {
    hf_store_relaxed(&trial->period, (uint16_t)windows);
    hf_store_relaxed(&trial->windows_left, (uint16_t)windows);
}

static inline unsigned hf_trial_longer_period(const struct hf_trial *trial) {
    unsigned twice = 2U * hf_load_relaxed(&trial->period);
    return twice < HF_TRIAL_PERIOD_MAX ? twice : (unsigned)HF_TRIAL_PERIOD_MAX;
}

static inline void hf_trial_begin(struct hf_trial *trial, const void *lock, hf_release_count releases, uint64_t now_ns,
                                  enum hf_trial_way first) {
    hf_store_relaxed(&trial->lock, lock);
    for (int way = 0; way < HF_TRIAL_WAYS; way++)
        hf_store_relaxed(&trial->rate[way], 0);
    hf_store_relaxed(&trial->turn_ns, 0);
    hf_release_rate_begin(&trial->whole, releases, now_ns);
    hf_trial_set_period(trial, HF_TRIAL_PERIOD_MIN);
    hf_trial_begin_window(trial, releases, first);
}

// The trial is another lock's: it is this one's from now on, if nobody has looked at it for long.
static inline void hf_trial_take_over(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                      uint64_t now_ns, enum hf_trial_way first) {
    uint64_t since_ns = hf_load_relaxed(&trial->since_ns);
    if (hf_ns_since(since_ns, now_ns) >= HF_TRIAL_STALE_NS && hf_cas_relaxed(&trial->since_ns, since_ns, now_ns))
        hf_trial_begin(trial, lock, releases, now_ns, first);
}

// Adds to what is known of the window's way.
static inline void hf_trial_learn(struct hf_trial *trial, hf_release_count releases, uint64_t took_ns) {
    uint32_t now = hf_releases_in_a_millisecond(hf_load_relaxed(&trial->seen), releases, took_ns);
    unsigned way = hf_load_relaxed(&trial->way) % HF_TRIAL_WAYS;
    uint32_t before = hf_load_relaxed(&trial->rate[way]);
    uint32_t other = hf_load_relaxed(&trial->rate[way == HF_TRIAL_LEAVE ? HF_TRIAL_TAKE : HF_TRIAL_LEAVE]);
    if (before != 0 && before < other)
        hf_trial_set_period(trial, now < other ? hf_trial_longer_period(trial) : (unsigned)HF_TRIAL_PERIOD_MIN);
    hf_store_relaxed(&trial->rate[way], before == 0 ? now : before - before / 4 + now / 4);
}

static inline enum hf_trial_way hf_trial_next_way(struct hf_trial *trial) {
    uint32_t leave = hf_load_relaxed(&trial->rate[HF_TRIAL_LEAVE]);
    uint32_t take = hf_load_relaxed(&trial->rate[HF_TRIAL_TAKE]);
    if (leave == 0)
        return HF_TRIAL_LEAVE;
    if (take == 0)
        return HF_TRIAL_TAKE;
    uint16_t windows_left = hf_load_relaxed(&trial->windows_left);
    bool worse = windows_left == 0;
    hf_store_relaxed(&trial->windows_left, worse ? hf_load_relaxed(&trial->period) : (uint16_t)(windows_left - 1));
    return (take > leave) != worse ? HF_TRIAL_TAKE : HF_TRIAL_LEAVE;
}

// A look at the time `now_ns` (CLOCK_MONOTONIC): which way to go; `first`, where nothing is known of this lock.
static inline enum hf_trial_way hf_trial_look(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                              uint64_t now_ns, enum hf_trial_way first) {
    if (hf_load_relaxed(&trial->lock) != lock) {
        hf_trial_take_over(trial, lock, releases, now_ns, first);
        return first;
    }
    uint64_t since_ns = hf_load_relaxed(&trial->since_ns), age_ns = hf_ns_since(since_ns, now_ns);
    if (age_ns < HF_TRIAL_WINDOW_NS || !hf_cas_relaxed(&trial->since_ns, since_ns, now_ns))
        return (enum hf_trial_way)hf_load_relaxed(&trial->way);
    if (age_ns < HF_TRIAL_STALE_NS)
        hf_trial_learn(trial, releases, age_ns);
    enum hf_trial_way way = hf_trial_next_way(trial);
    hf_trial_begin_window(trial, releases, way);
    return way;
}

// A look that found the word of a hot lock FREE: whether to leave it.
static inline bool hf_trial_leaves(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                   uint64_t now_ns) {
    return hf_trial_look(trial, lock, releases, now_ns, HF_TRIAL_LEAVE) == HF_TRIAL_LEAVE;
}

static inline bool hf_trial_is_for_longer_sections(const struct hf_trial *trial) {
    return hf_load_relaxed(&trial->rate[HF_TRIAL_TAKE]) >= HF_TRIAL_RATE_MIN &&
           hf_load_relaxed(&trial->rate[HF_TRIAL_LEAVE]) < HF_TRIAL_RATE_HOT;
}

// Any look at a lock that is not hot: whether to leave its word, FREE or when it will be.
static inline bool hf_trial_leaves_unhot(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                         uint64_t now_ns) {
    return hf_trial_look(trial, lock, releases, now_ns, HF_TRIAL_TAKE) == HF_TRIAL_LEAVE &&
           hf_trial_is_for_longer_sections(trial);
}

// A thread comes to wait for it: is it released often enough for looks to be of use? `otherwise`: where that is not
// known.
static inline bool hf_trial_may_find_it_hot(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                            uint64_t now_ns, bool otherwise) {
    if (hf_load_relaxed(&trial->lock) != lock) {
        hf_trial_take_over(trial, lock, releases, now_ns, HF_TRIAL_TAKE);
        return otherwise;
    }
    hf_release_rate_look(&trial->whole, releases, now_ns);
    return hf_release_rate_is_known(&trial->whole) ? !hf_release_rate_is_slow(&trial->whole) : otherwise;
}

// Do batches get the lock released more often by so much that it is no accident?
static inline bool hf_trial_batches_clearly_pay(const struct hf_trial *trial, const void *lock) {
    uint64_t leave = hf_load_relaxed(&trial->rate[HF_TRIAL_LEAVE]), take = hf_load_relaxed(&trial->rate[HF_TRIAL_TAKE]);
    return hf_load_relaxed(&trial->lock) == lock && take != 0 && 8 * leave > 9 * take;
}

// Who has napped for the lock has it.
static inline void hf_trial_begin_turn(struct hf_trial *trial, uint64_t now_ns) {
    hf_store_relaxed(&trial->turn_ns, now_ns);
}

static inline bool hf_trial_turn_is_over(const struct hf_trial *trial, uint64_t now_ns) {
    return now_ns >= hf_load_relaxed(&trial->turn_ns) + HF_TRIAL_TURN_NS;
}

#ifdef __cplusplus
}
#endif

#endif
