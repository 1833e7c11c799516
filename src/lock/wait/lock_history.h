// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock's history: what is known, by measurement, of how its waiters should wait. It answers three questions, each by
// exploring two arms (explore.h) and keeping the one in whose windows the lock was released more often. What pays
// depends on how fast lines move between the machine's CPUs, and on what the threads do between two sections.
//
// A free word: defer to the owner that comes back for it (defer_policy.h), or barge.
//
//       a window begins                      a sample after its end
//     ------------------> +----------------+ ------------------> what is known of its arm is brought up to date,
//                         | DEFER or BARGE |                     and the next window begins:
//     ------------------> +----------------+                       for an arm of which nothing is known;
//                                                                  now and then for the worse one;
//                                                                  all others for the better one
//
// A window whose end nobody sampled tells nothing: its owner was preempted, or nobody waited.
//
// Waiters of a hot lock defer at first. Those of another lock barge until it is known how often it is released so; they
// defer only if that is once in some microseconds, else its owner will not be back soon; and not if it comes to be hot
// by that: then the rules for hot locks hold.
//
// A thread that comes to a lock which is neither hot nor slow (release_rate.h): poll for a moment, or sleep at once.
// What pays depends on what the owner gains from being alone. Its windows are others, at the ends of which somebody
// comes. Sleeping has to be better by an eighth: those who sleep in one window are still to be woken in the next.
//
// A woken thread: barge, or sleep first (yield_policy.h). It mostly finds the word FREE: its owner is still in the call
// that woke it. To take it then makes each section another thread's, with a wake before each. Asked of locks that are
// not hot and not too slow. These windows are longer, since a thread that sleeps at the end of one is still to come in
// the next; an eighth is asked for here, too. While this is explored, and just after, nothing is learnt of threads that
// come.
//
// wait.T1  Advice only, as the defer policy is, whose slice bounds both arms (wait.P1). So nothing here is exact: a
//     history is found by the lock's address in a table without chains, locks that meet there take turns, and a waiter
//     that finds another's goes by the arm of a lock of which nothing is known; two that write at once may spoil a
//     window.
#ifndef HF_LOCK_WAIT_LOCK_HISTORY_H
#define HF_LOCK_WAIT_LOCK_HISTORY_H

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

// What to do with a free word; what with a word that a thread which comes finds held.
enum hf_history_free_word { HF_HISTORY_DEFER, HF_HISTORY_BARGE };
enum hf_history_wait { HF_HISTORY_POLL, HF_HISTORY_SLEEP };
// And what a thread does that was woken.
enum hf_history_woken { HF_HISTORY_WOKEN_BARGES, HF_HISTORY_WOKEN_SLEEPS };

// Zeroed memory is the history of no lock.
struct hf_lock_history {
    const void *lock;
    uint64_t since_ns;            // the window's begin
    uint64_t turn_ns;             // when a waiter that had slept got the lock last
    struct hf_explore free_word;  // enum hf_history_free_word
    hf_release_count seen;        // at the window's begin
    struct hf_release_rate whole; // whatever the arm, and of waits by neither
    struct hf_explore wait;       // enum hf_history_wait; its windows are those of `whole`
    struct hf_explore woken;      // enum hf_history_woken
    struct hf_release_rate woken_rate;
    bool woken_settled; // those of the other arm are through
} __attribute__((aligned(64)));

// So many that locks which are waited for at a time hardly meet; a page for each 32 of them.
enum { HF_HISTORIES_BITS = 10 };

extern struct hf_lock_history hf_lock_histories[1 << HF_HISTORIES_BITS] __attribute__((visibility("hidden")));

// `lock`, here and below: where the lock's releases are counted. A caller that is shown another count sees another
// lock.
static inline struct hf_lock_history *hf_history_of(const void *lock) {
    return &hf_lock_histories[hf_address_hash((uintptr_t)lock, HF_HISTORIES_BITS)];
}

static inline void hf_history_begin(struct hf_lock_history *history, const void *lock, hf_release_count releases,
                                    uint64_t now_ns, enum hf_history_free_word first) {
    hf_store_relaxed(&history->lock, lock);
    hf_store_relaxed(&history->turn_ns, 0);
    hf_release_rate_begin(&history->whole, releases, now_ns);
    hf_explore_begin(&history->wait, HF_HISTORY_POLL, HF_HISTORY_SLEEP_HYSTERESIS, HF_EXPLORE_PERIOD_MIN);
    hf_explore_begin(&history->woken, HF_HISTORY_WOKEN_BARGES, HF_HISTORY_WOKEN_HYSTERESIS,
                     HF_HISTORY_WOKEN_PERIOD_MIN);
    hf_release_rate_begin(&history->woken_rate, releases, now_ns);
    hf_store_relaxed(&history->woken_settled, true);
    hf_explore_begin(&history->free_word, first, 0, HF_EXPLORE_PERIOD_MIN);
    hf_store_relaxed(&history->seen, releases);
}

// The history is another lock's: it is this one's from now on, if nobody has sampled it for long.
static inline void hf_history_take_over(struct hf_lock_history *history, const void *lock, hf_release_count releases,
                                        uint64_t now_ns, enum hf_history_free_word first) {
    uint64_t since_ns = hf_load_relaxed(&history->since_ns);
    if (hf_ns_since(since_ns, now_ns) >= HF_HISTORY_STALE_NS && hf_cas_relaxed(&history->since_ns, since_ns, now_ns))
        hf_history_begin(history, lock, releases, now_ns, first);
}

// A sample at the time `now_ns` (CLOCK_MONOTONIC): the arm of this window; `first`, where nothing is known of this
// lock.
static inline enum hf_history_free_word hf_history_sample(struct hf_lock_history *history, const void *lock,
                                                          hf_release_count releases, uint64_t now_ns,
                                                          enum hf_history_free_word first) {
    if (hf_load_relaxed(&history->lock) != lock) {
        hf_history_take_over(history, lock, releases, now_ns, first);
        return first;
    }
    uint64_t since_ns = hf_load_relaxed(&history->since_ns), age_ns = hf_ns_since(since_ns, now_ns);
    if (age_ns < HF_HISTORY_WINDOW_NS || !hf_cas_relaxed(&history->since_ns, since_ns, now_ns))
        return (enum hf_history_free_word)hf_explore_arm(&history->free_word);
    if (age_ns < HF_HISTORY_STALE_NS)
        hf_explore_learn(&history->free_word,
                         hf_releases_in_a_millisecond(hf_load_relaxed(&history->seen), releases, age_ns));
    hf_store_relaxed(&history->seen, releases);
    return (enum hf_history_free_word)hf_explore_next_window(&history->free_word);
}

// A sample that found the word of a hot lock FREE: whether to defer.
static inline bool hf_history_defers(struct hf_lock_history *history, const void *lock, hf_release_count releases,
                                     uint64_t now_ns) {
    return hf_history_sample(history, lock, releases, now_ns, HF_HISTORY_DEFER) == HF_HISTORY_DEFER;
}

static inline bool hf_history_is_for_longer_sections(const struct hf_lock_history *history) {
    return hf_explore_rate(&history->free_word, HF_HISTORY_BARGE) >= HF_HISTORY_RATE_MIN &&
           hf_explore_rate(&history->free_word, HF_HISTORY_DEFER) < HF_HISTORY_RATE_HOT;
}

// Any sample of a lock that is not hot: whether to defer, with the word FREE or when it will be.
static inline bool hf_history_defers_unhot(struct hf_lock_history *history, const void *lock, hf_release_count releases,
                                           uint64_t now_ns) {
    return hf_history_sample(history, lock, releases, now_ns, HF_HISTORY_BARGE) == HF_HISTORY_DEFER &&
           hf_history_is_for_longer_sections(history);
}

// Or was, as far as is known, when those that come polled.
static inline bool hf_history_is_slow(const struct hf_lock_history *history) {
    return hf_rate_is_slow(hf_release_rate_known(&history->whole)) &&
           hf_rate_is_slow(hf_explore_rate(&history->wait, HF_HISTORY_POLL));
}

// After hf_history_may_find_it_hot: is it known to be slow, rather than not known, or one to sleep at once for?
static inline bool hf_history_knows_slow(const struct hf_lock_history *history, const void *lock) {
    return hf_load_relaxed(&history->lock) == lock && hf_release_rate_known(&history->whole) != 0 &&
           hf_history_is_slow(history);
}

// Is the lock one whose owner is back soon, but not at once?
static inline bool hf_history_rate_is_for_designated_waker(uint32_t in_a_millisecond) {
    return in_a_millisecond >= HF_HISTORY_RATE_MIN && in_a_millisecond < HF_HISTORY_RATE_HOT;
}

// A sample of what becomes of it while woken threads use this arm. What comes first after another arm tells nothing.
static inline void hf_history_learn_of_woken(struct hf_lock_history *history, hf_release_count releases,
                                             uint64_t now_ns) {
    bool settled = hf_load_relaxed(&history->woken_settled);
    if (!hf_release_rate_look_after(&history->woken_rate, releases, now_ns,
                                    settled ? HF_HISTORY_WOKEN_WINDOW_NS : HF_HISTORY_WOKEN_SETTLES_NS,
                                    HF_HISTORY_WOKEN_STALE_NS))
        return;
    uint32_t rate = hf_release_rate_known(&history->woken_rate);
    if (!settled || rate == 0) {
        hf_store_relaxed(&history->woken_settled, rate != 0);
        return;
    }
    unsigned arm = hf_explore_arm(&history->woken);
    hf_explore_learn(&history->woken, rate);
    if (hf_history_rate_is_for_designated_waker(hf_explore_rate(&history->woken, HF_HISTORY_WOKEN_BARGES)))
        hf_store_relaxed(&history->woken_settled, hf_explore_next_window(&history->woken) == arm);
}

// Not while the third question is explored, nor just after.
static inline bool hf_history_may_learn_of_arrivals(const struct hf_lock_history *history) {
    bool tries_sleep =
        hf_explore_arm(&history->woken) == HF_HISTORY_WOKEN_SLEEPS && hf_explore_is_exploring(&history->woken);
    return hf_load_relaxed(&history->woken_settled) && !tries_sleep;
}

// A waiter was woken: whether it sleeps, and leaves the lock to its owner for so long.
static inline bool hf_history_lets_woken_sleep(const struct hf_lock_history *history, const void *lock,
                                               uint64_t now_ns) {
    return hf_load_relaxed(&history->lock) == lock && hf_explore_arm(&history->woken) == HF_HISTORY_WOKEN_SLEEPS &&
           hf_ns_since(hf_load_relaxed(&history->woken_rate.since_ns), now_ns) < HF_HISTORY_WOKEN_STALE_NS;
}

// A sample of the rate, whatever the arm: what is known of it, after what the end of a window has taught.
static inline uint32_t hf_history_sample_rate(struct hf_lock_history *history, hf_release_count releases,
                                              uint64_t now_ns) {
    bool learns = hf_history_may_learn_of_arrivals(history);
    hf_history_learn_of_woken(history, releases, now_ns);
    bool ended = hf_release_rate_look(&history->whole, releases, now_ns);
    uint32_t rate = hf_release_rate_known(&history->whole);
    if (learns && ended && rate != 0 && !hf_history_is_slow(history) && rate < HF_HISTORY_RATE_HOT) {
        hf_explore_learn(&history->wait, rate);
        hf_explore_next_window(&history->wait);
    }
    return rate;
}

// A woken thread has slept.
static inline void hf_history_sample_after_sleep(struct hf_lock_history *history, const void *lock,
                                                 hf_release_count releases, uint64_t now_ns) {
    if (hf_load_relaxed(&history->lock) == lock)
        hf_history_sample_rate(history, releases, now_ns);
}

// A thread comes to wait for it: is sampling of use? `otherwise`: where that is not known.
static inline bool hf_history_may_find_it_hot(struct hf_lock_history *history, const void *lock,
                                              hf_release_count releases, uint64_t now_ns, bool otherwise) {
    if (hf_load_relaxed(&history->lock) != lock) {
        hf_history_take_over(history, lock, releases, now_ns, HF_HISTORY_BARGE);
        return otherwise;
    }
    uint32_t rate = hf_history_sample_rate(history, releases, now_ns);
    if (rate == 0)
        return otherwise;
    if (hf_history_is_slow(history))
        return false;
    if (rate >= HF_HISTORY_RATE_HOT)
        return true;
    return hf_explore_arm(&history->wait) == HF_HISTORY_POLL;
}

// Do batches get the lock released more often by so much that it is no accident?
static inline bool hf_history_batches_clearly_pay(const struct hf_lock_history *history, const void *lock) {
    uint32_t leave = hf_explore_rate(&history->free_word, HF_HISTORY_DEFER);
    uint32_t take = hf_explore_rate(&history->free_word, HF_HISTORY_BARGE);
    return hf_load_relaxed(&history->lock) == lock && take != 0 && hf_is_more_by_eighths(leave, take, 1);
}

// A waiter that has slept for the lock has it.
static inline void hf_history_begin_turn(struct hf_lock_history *history, uint64_t now_ns) {
    hf_store_relaxed(&history->turn_ns, now_ns);
}

static inline bool hf_history_turn_is_over(const struct hf_lock_history *history, uint64_t now_ns) {
    return now_ns >= hf_load_relaxed(&history->turn_ns) + HF_HISTORY_TURN_NS;
}

#ifdef __cplusplus
}
#endif

#endif
