// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether the waiters of a lock leave its free word to the owner that comes back for it (defer_policy.h), or take it.
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
// Which window is for which way: explore.h. A window whose end nobody looked for tells nothing: its owner was
// preempted, or nobody waited.
//
// A hot lock is left at first. Of one that is not, the word is taken until it is known how often it is released so;
// left only if that is once in some microseconds, else its owner will not be back soon; and not if it comes to be hot
// by being left: then it is for who finds it hot to leave it.
//
// Whoever comes to a lock that is neither hot nor slow (release_rate.h) polls for a moment before it sleeps. Whether
// that pays depends on what its owner gains from being alone, and is tried in the same manner, in windows of their own,
// at the ends of which somebody comes. To sleep has to be better by an eighth: those who sleep in one window are still
// to be woken in the next.
//
// Who was woken finds the word FREE, mostly: its owner is still in the call that woke it. To take it then makes each
// section somebody else's, with a wake before each. So it is tried, too, for locks that are not hot and not too slow,
// whether it is better that who was woken naps first, and leaves the lock to its owner meanwhile (yield_policy.h).
// Those windows are longer, since whoever naps at the end of one is still to come in the next; an eighth is asked for
// here, too. While that is tried, and just after, nothing is learnt of those who come.
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
#include "lock/wait/defer_policy.h"
#include "lock/wait/explore.h"
#include "lock/wait/release_rate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    // Some hundred hand-overs, so that one way does not show in the next one's count.
    HF_TRIAL_WINDOW_NS = 100 * 1000,
    // A look as late as this closes no window. Releases are counted modulo 65536.
    HF_TRIAL_STALE_NS = 1000 * 1000,
    // In a millisecond: so often a lock that is not hot is released at least when it is taken, and at most when it is
    // left.
    HF_TRIAL_RATE_MIN = 300,
    HF_TRIAL_RATE_HOT = 1000 * 1000 / HF_HOT_NS,
    HF_TRIAL_SLEEP_HANDICAP = 1, // in eighths
    HF_TRIAL_NAP_HANDICAP = 1,
    HF_TRIAL_NAP_PERIOD_MIN = 32, // windows that are long, and costly where naps do not pay
    // Of a window for who was woken: before it begins, where the way has changed; its length; and what is too long for
    // either. A lock that is not hot is released less than 65536 times in it.
    HF_TRIAL_WOKEN_SETTLES_NS = 500 * 1000,
    HF_TRIAL_WOKEN_WINDOW_NS = 1500 * 1000,
    HF_TRIAL_WOKEN_STALE_NS = 8 * 1000 * 1000,
    // For so long a lock that somebody has napped for is left to him.
    HF_TRIAL_TURN_NS = 500 * 1000,
};

// What to do with a free word; what with a word that a thread which comes finds held.
enum hf_trial_way { HF_TRIAL_LEAVE, HF_TRIAL_TAKE };
enum hf_trial_wait { HF_TRIAL_POLL, HF_TRIAL_SLEEP };
// And what a thread does that was woken.
enum hf_trial_woken { HF_TRIAL_WOKEN_TAKES, HF_TRIAL_WOKEN_NAPS };

// Zeroed memory is a trial of no lock.
struct hf_trial {
    const void *lock;
    uint64_t since_ns;            // the window's begin
    uint64_t turn_ns;             // when a waiter that had napped got the lock last
    struct hf_two_ways free_word; // enum hf_trial_way
    hf_release_count seen;        // at the window's begin
    struct hf_release_rate whole; // whatever the way, and of waits that go neither
    struct hf_two_ways wait;      // enum hf_trial_wait; its windows are those of `whole`
    struct hf_two_ways woken;     // enum hf_trial_woken
    struct hf_release_rate woken_rate;
    bool woken_settled; // those of the other way are through
} __attribute__((aligned(64)));

// So many that locks which are waited for at a time hardly meet; a page for each 32 of them.
enum { HF_TRIALS_BITS = 10 };

extern struct hf_trial hf_trials[1 << HF_TRIALS_BITS] __attribute__((visibility("hidden")));

// `lock`, here and below: where the lock's releases are counted. To who is shown another count it is another lock.
static inline struct hf_trial *hf_trial_of(const void *lock) {
    return &hf_trials[hf_address_hash((uintptr_t)lock, HF_TRIALS_BITS)];
}

static inline void hf_trial_begin(struct hf_trial *trial, const void *lock, hf_release_count releases, uint64_t now_ns,
                                  enum hf_trial_way first) {
    hf_store_relaxed(&trial->lock, lock);
    hf_store_relaxed(&trial->turn_ns, 0);
    hf_release_rate_begin(&trial->whole, releases, now_ns);
    hf_two_ways_begin(&trial->wait, HF_TRIAL_POLL, HF_TRIAL_SLEEP_HANDICAP, HF_TWO_WAYS_PERIOD_MIN);
    hf_two_ways_begin(&trial->woken, HF_TRIAL_WOKEN_TAKES, HF_TRIAL_NAP_HANDICAP, HF_TRIAL_NAP_PERIOD_MIN);
    hf_release_rate_begin(&trial->woken_rate, releases, now_ns);
    hf_store_relaxed(&trial->woken_settled, true);
    hf_two_ways_begin(&trial->free_word, first, 0, HF_TWO_WAYS_PERIOD_MIN);
    hf_store_relaxed(&trial->seen, releases);
}

// The trial is another lock's: it is this one's from now on, if nobody has looked at it for long.
static inline void hf_trial_take_over(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                      uint64_t now_ns, enum hf_trial_way first) {
    uint64_t since_ns = hf_load_relaxed(&trial->since_ns);
    if (hf_ns_since(since_ns, now_ns) >= HF_TRIAL_STALE_NS && hf_cas_relaxed(&trial->since_ns, since_ns, now_ns))
        hf_trial_begin(trial, lock, releases, now_ns, first);
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
        return (enum hf_trial_way)hf_two_ways_now(&trial->free_word);
    if (age_ns < HF_TRIAL_STALE_NS)
        hf_two_ways_learn(&trial->free_word,
                          hf_releases_in_a_millisecond(hf_load_relaxed(&trial->seen), releases, age_ns));
    hf_store_relaxed(&trial->seen, releases);
    return (enum hf_trial_way)hf_two_ways_go_on(&trial->free_word);
}

// A look that found the word of a hot lock FREE: whether to leave it.
static inline bool hf_trial_leaves(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                   uint64_t now_ns) {
    return hf_trial_look(trial, lock, releases, now_ns, HF_TRIAL_LEAVE) == HF_TRIAL_LEAVE;
}

static inline bool hf_trial_is_for_longer_sections(const struct hf_trial *trial) {
    return hf_two_ways_rate(&trial->free_word, HF_TRIAL_TAKE) >= HF_TRIAL_RATE_MIN &&
           hf_two_ways_rate(&trial->free_word, HF_TRIAL_LEAVE) < HF_TRIAL_RATE_HOT;
}

// Any look at a lock that is not hot: whether to leave its word, FREE or when it will be.
static inline bool hf_trial_leaves_unhot(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                         uint64_t now_ns) {
    return hf_trial_look(trial, lock, releases, now_ns, HF_TRIAL_TAKE) == HF_TRIAL_LEAVE &&
           hf_trial_is_for_longer_sections(trial);
}

// Or was, as far as is known, when those that come polled.
static inline bool hf_trial_is_slow(const struct hf_trial *trial) {
    return hf_rate_is_slow(hf_release_rate_known(&trial->whole)) &&
           hf_rate_is_slow(hf_two_ways_rate(&trial->wait, HF_TRIAL_POLL));
}

// Is the lock one whose owner is back soon, but not at once?
static inline bool hf_trial_rate_is_for_naps(uint32_t in_a_millisecond) {
    return in_a_millisecond >= HF_TRIAL_RATE_MIN && in_a_millisecond < HF_TRIAL_RATE_HOT;
}

// A look at what becomes of it while who was woken goes this way. What comes first after another way tells nothing.
static inline void hf_trial_learn_of_woken(struct hf_trial *trial, hf_release_count releases, uint64_t now_ns) {
    bool settled = hf_load_relaxed(&trial->woken_settled);
    if (!hf_release_rate_look_after(&trial->woken_rate, releases, now_ns,
                                    settled ? HF_TRIAL_WOKEN_WINDOW_NS : HF_TRIAL_WOKEN_SETTLES_NS,
                                    HF_TRIAL_WOKEN_STALE_NS))
        return;
    uint32_t rate = hf_release_rate_known(&trial->woken_rate);
    if (!settled || rate == 0) {
        hf_store_relaxed(&trial->woken_settled, rate != 0);
        return;
    }
    unsigned way = hf_two_ways_now(&trial->woken);
    hf_two_ways_learn(&trial->woken, rate);
    if (hf_trial_rate_is_for_naps(hf_two_ways_rate(&trial->woken, HF_TRIAL_WOKEN_TAKES)))
        hf_store_relaxed(&trial->woken_settled, hf_two_ways_go_on(&trial->woken) == way);
}

// Not while naps are tried, nor just after.
static inline bool hf_trial_may_learn_of_who_comes(const struct hf_trial *trial) {
    bool tries_naps = hf_two_ways_now(&trial->woken) == HF_TRIAL_WOKEN_NAPS && hf_two_ways_tries(&trial->woken);
    return hf_load_relaxed(&trial->woken_settled) && !tries_naps;
}

// A thread was woken that waits for it: whether to nap, and leave it to its owner for so long.
static inline bool hf_trial_lets_woken_nap(const struct hf_trial *trial, const void *lock, uint64_t now_ns) {
    return hf_load_relaxed(&trial->lock) == lock && hf_two_ways_now(&trial->woken) == HF_TRIAL_WOKEN_NAPS &&
           hf_ns_since(hf_load_relaxed(&trial->woken_rate.since_ns), now_ns) < HF_TRIAL_WOKEN_STALE_NS;
}

// A look at the rate, whatever the way: what is known of it, after what the end of a window has taught.
static inline uint32_t hf_trial_look_at_rate(struct hf_trial *trial, hf_release_count releases, uint64_t now_ns) {
    bool learns = hf_trial_may_learn_of_who_comes(trial);
    hf_trial_learn_of_woken(trial, releases, now_ns);
    bool ended = hf_release_rate_look(&trial->whole, releases, now_ns);
    uint32_t rate = hf_release_rate_known(&trial->whole);
    if (learns && ended && rate != 0 && !hf_trial_is_slow(trial) && rate < HF_TRIAL_RATE_HOT) {
        hf_two_ways_learn(&trial->wait, rate);
        hf_two_ways_go_on(&trial->wait);
    }
    return rate;
}

// Who was woken has napped.
static inline void hf_trial_look_after_nap(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                           uint64_t now_ns) {
    if (hf_load_relaxed(&trial->lock) == lock)
        hf_trial_look_at_rate(trial, releases, now_ns);
}

// A thread comes to wait for it: are looks of use? `otherwise`: where that is not known.
static inline bool hf_trial_may_find_it_hot(struct hf_trial *trial, const void *lock, hf_release_count releases,
                                            uint64_t now_ns, bool otherwise) {
    if (hf_load_relaxed(&trial->lock) != lock) {
        hf_trial_take_over(trial, lock, releases, now_ns, HF_TRIAL_TAKE);
        return otherwise;
    }
    uint32_t rate = hf_trial_look_at_rate(trial, releases, now_ns);
    if (rate == 0)
        return otherwise;
    if (hf_trial_is_slow(trial))
        return false;
    if (rate >= HF_TRIAL_RATE_HOT)
        return true;
    return hf_two_ways_now(&trial->wait) == HF_TRIAL_POLL;
}

// Do batches get the lock released more often by so much that it is no accident?
static inline bool hf_trial_batches_clearly_pay(const struct hf_trial *trial, const void *lock) {
    uint32_t leave = hf_two_ways_rate(&trial->free_word, HF_TRIAL_LEAVE);
    uint32_t take = hf_two_ways_rate(&trial->free_word, HF_TRIAL_TAKE);
    return hf_load_relaxed(&trial->lock) == lock && take != 0 && hf_is_more_by_eighths(leave, take, 1);
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
