// SPDX-License-Identifier: MIT OR Apache-2.0
// The defer policy: when a waiter that polls takes a free word (barges), and when it leaves it to an owner that keeps
// coming back (defers).
//
// Seeing the word FREE once does not mean that the lock is available: an owner that takes it again and again leaves it
// free for some nanoseconds each time. If a waiter takes it then, the lock and what it protects move to another CPU at
// each release, which costs more than the critical section. So the owner counts its releases beside the word, and the
// waiter compares the counts of two samples. A lock is hot while one release comes each HF_HOT_NS: an owner that runs
// gives it back again and again. Until a waiter has sampled it for long enough it takes a lock for hot.
//
//        neither hot nor batches, or free since the last sample: nobody comes back for it soon
//      +-------+ -----------------------------------------------------------> +-------+
//      | DEFER |                                                              | BARGE |
//      +-------+ -----------------------------------------------------------> +-------+
//       |     ^    the slice is over: the owner has had its turn,
//       |     |    or batches do not pay for this lock (lock_history.h)
//       +-----+
//       hot or batches, within the slice
//
// Deferring may pay for a lock that is not hot, too, where its threads do little else than use it for a microsecond at
// a time: the lock's history says so (lock_history.h), `batches`. Its slice is short. But the waiter goes on sampling
// seldom after it, and takes the word when it finds it FREE, by luck; if it has none for two of the other slices, it
// announces a sleeper.
//
// Each sample takes the line from the owner. While it defers a waiter samples less and less often; else as often as it
// can, since what it waits for is one moment, as short as its owner stays away.
//
// An owner that stays away for some 50 ns only, and is back before the line has moved, may keep the lock for a
// millisecond although it is not hot. So a waiter that has waited for HF_ANNOUNCE_NS and has seen a release announces
// a sleeper, and the next unlock, which calls the kernel, leaves the word FREE for long enough.
//
// wait.P1  Bounded. A waiter leaves a free word for HF_DEFER_SLICE_NS at most, of a lock that is not hot for
//     HF_DEFER_SHORT_SLICE_NS, from its first sample on, and never twice without a release in between. (If it yields
//     then, for as much longer as wait.P3 and P4 in yield_policy.h have it.)
// wait.P6  The longer a waiter has waited, the shorter it defers: for HF_DEFER_SLICE_NS at first, not at all after
//     HF_DUE_NS. So a queue of any length, in which each waiter defers to the one before, is through in about that
//     time, and its owners' turns become as short as that needs. After HF_CLAIM_NS, if the lock has been released as
//     often meanwhile as the process has threads, the waiter is overdue: a fair lock would have been its own. Then it
//     claims the lock (park/claims.h). A sleeper finds out when it is woken; sleepers are woken in their order.
// wait.P7  A thread that has work defers to nobody: one that, since it last waited, had HF_PACE_WORK_US or more for
//     each lock that it took (pace.h). A batch is for threads that do little else than use the lock. To one that works
//     a hot lock is no sign of work that gets done: its owner may be looking, again and again, whether there is any.
// Advice only, as the queue is: it says when to try the word, never who owns it (word.I1, I2).
//
// No hint about other locks, or about the CPU, is as good as that a lock is hot, for as long as it lasts:
//
// wait.P2  A waiter that polls because the lock is hot stops when it finds that it is not.
#ifndef HF_LOCK_WAIT_DEFER_POLICY_H
#define HF_LOCK_WAIT_DEFER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/pause.h"
#include "lock/wait/tuning.h"

// Releases of a lock, counted by its owners, modulo 65536. Acquisitions by another path (glibc's functions)
// count nothing: then the head takes the word when it sees it free twice.
typedef uint16_t hf_release_count;

struct hf_defer {
    uint64_t slice_end_ns;
    uint32_t slice_ns;       // of a hot lock; 0: the waiter is due, and does not defer
    uint64_t window_ns;      // begin of the time in which releases are counted,
    hf_release_count window; // and their count then
    hf_release_count seen;   // count at the last sample that found the word FREE
    hf_release_count asked;  // count at the last announcement, or the first sample
    uint64_t announce_ns;    // not before
    bool hot;                // as far as is known: a lock that has not been sampled for long enough is
    bool found_hot;          // by a whole window
    bool batches;            // deferring pays even if it is not hot: the caller's to say, while there is time
    bool warm;               // a release has been seen, or waited for in vain
};

// For how long a waiter that has waited for so long defers to a hot lock's owner: wait.P6.
static inline uint32_t hf_defer_slice(uint64_t waited_ns) {
    return waited_ns < HF_DUE_NS ? (uint32_t)((HF_DUE_NS - waited_ns) / (HF_DUE_NS / HF_DEFER_SLICE_NS)) : 0;
}

static inline bool hf_defer_is_due(const struct hf_defer *defer) {
    return defer->slice_ns == 0;
}

// The first sample, at the time `now_ns` (CLOCK_MONOTONIC).
static inline struct hf_defer hf_defer_begin(hf_release_count releases, uint64_t now_ns, uint32_t slice_ns) {
    return (struct hf_defer){.slice_end_ns = now_ns + slice_ns,
                             .slice_ns = slice_ns,
                             .window_ns = now_ns,
                             .window = releases,
                             .seen = releases,
                             .asked = releases,
                             .announce_ns = now_ns + HF_ANNOUNCE_NS,
                             .hot = true,
                             .found_hot = false,
                             .batches = false,
                             .warm = false};
}

// Of a lock that is not hot. A waiter that has waited for longer samples as often as it can, and announces.
static inline bool hf_defer_has_time_for_batches(const struct hf_defer *defer, uint64_t now_ns) {
    return now_ns < defer->slice_end_ns + defer->slice_ns;
}

static inline bool hf_defer_may_defer(const struct hf_defer *defer) {
    return (defer->hot || defer->batches) && !hf_defer_is_due(defer);
}

// A later sample that found the word FREE: whether to take it, by what was known before. Needs no clock, which would be
// time for the owner to come back.
static inline bool hf_defer_barges_at_once(const struct hf_defer *defer, hf_release_count releases) {
    return !hf_defer_may_defer(defer) || releases == defer->seen;
}

// A later sample, with the word FREE or not.
static inline void hf_defer_learn(struct hf_defer *defer, bool is_free, hf_release_count releases, uint64_t now_ns) {
    if (is_free)
        defer->seen = releases;
    uint64_t age_ns = hf_ns_since(defer->window_ns, now_ns);
    hf_release_count since = (hf_release_count)(releases - defer->window);
    // The caches of a new owner are cold: its first section says nothing about the next ones.
    bool first_release = !defer->warm && since != 0;
    if (!first_release && age_ns < (defer->warm ? HF_HOT_WINDOW_NS : HF_COLD_NS))
        return;
    defer->warm = true;
    defer->hot = first_release || since * (uint64_t)HF_HOT_NS + HF_HOT_NS / 2 >= age_ns;
    defer->found_hot = defer->hot && !first_release;
    defer->window = releases;
    defer->window_ns = now_ns;
}

// A sample of a waiter that has left its CPU since the last one: it takes the word when it is FREE. Is the lock still
// hot? `finds_out`: as at any sample; else it is taken for as hot as it was found.
static inline void hf_defer_after_yield(struct hf_defer *defer, bool finds_out, hf_release_count releases,
                                        uint64_t now_ns) {
    if (finds_out) {
        hf_defer_learn(defer, false, releases, now_ns);
    } else {
        *defer = hf_defer_begin(releases, now_ns, defer->slice_ns);
        defer->found_hot = true;
    }
    defer->slice_end_ns = now_ns;
}

// A pause at least, and so many timed pauses.
static inline void hf_pause_between_samples(int pauses) {
    hf_pause();
    while (pauses-- > 0)
        hf_timed_pause();
}

// After a sample, before which there were so many `pauses`.
static inline int hf_pauses_before_next_sample(int pauses, const struct hf_defer *defer) {
    if (!hf_defer_may_defer(defer))
        return 0;
    return pauses < (defer->hot ? HF_PAUSES_MAX : HF_PAUSES_MAX_LONG) ? 2 * pauses + 1 : pauses;
}

// After hf_defer_learn, with the word held: whether to announce a sleeper. True once, for HF_ANNOUNCE_NS and a
// release.
static inline bool hf_defer_announces(struct hf_defer *defer, hf_release_count releases, uint64_t now_ns) {
    if (hf_defer_may_defer(defer) || releases == defer->asked || now_ns < defer->announce_ns)
        return false;
    defer->asked = releases;
    defer->announce_ns = now_ns + HF_ANNOUNCE_NS;
    return true;
}

// After hf_defer_learn, with the word FREE: whether to take it, whether batches pay or not.
static inline bool hf_defer_barges(const struct hf_defer *defer, uint64_t now_ns) {
    uint32_t short_slice_ns = defer->slice_ns / (HF_DEFER_SLICE_NS / HF_DEFER_SHORT_SLICE_NS);
    uint64_t cut_ns = defer->hot ? 0 : defer->slice_ns - short_slice_ns;
    return !hf_defer_may_defer(defer) || now_ns + cut_ns >= defer->slice_end_ns;
}

#endif
