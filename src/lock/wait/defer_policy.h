// SPDX-License-Identifier: MIT OR Apache-2.0
// When who polls takes a free word, and when it leaves it to an owner that keeps coming back for it.
//
// A word that is FREE at a look is no news by itself: an owner that takes it again and again leaves it free for some
// nanoseconds each time. If a waiter takes it there, the lock and what it protects move to another CPU at each release,
// which costs more than the critical section. So the owner counts its releases beside the word, and the waiter compares
// that count between its looks. A lock is hot while one release comes each HF_HOT_NS: somebody who runs gives it back
// again and again. Until a waiter has looked for long enough it takes a lock for hot.
//
//        neither hot nor batches, or free since the last look: nobody comes back for it soon
//      +-------+ -----------------------------------------------------------> +------+
//      | LEAVE |                                                              | TAKE |
//      +-------+ -----------------------------------------------------------> +------+
//       |     ^    the slice is over: whoever comes back has had its turn,
//       |     |    or batches do not pay for this lock (lock_history.h)
//       +-----+
//       hot or batches, within the slice
//
// A lock that is not hot may be worth leaving to its owner all the same, where its threads do little else than use it
// for a microsecond at a time: that is known when it has been tried (lock_history.h), `batches`. Its slice is short.
// But who waits goes on looking seldom after it, and takes the word when it finds it FREE, by luck; if it has none for
// two of the other slices, it asks.
//
// Each look takes the line from the owner. While the word is to be left who polls looks less and less often; else as
// often as it can, since what it waits for is one moment, as short as its owner stays away.
//
// An owner that stays away for some 50 ns only, and is back before the line has moved, may keep the lock for a
// millisecond although it is not hot. So who has waited for HF_ASK_NS and has seen it given back asks: it announces a
// sleeper, and the next unlock, which calls the kernel, leaves the word FREE for long enough.
//
// P1  Bounded. A waiter leaves a free word for HF_PACE_SLICE_NS at most, of a lock that is not hot for
//     HF_PACE_SHORT_SLICE_NS, from its first look on, and never twice without a release in between. (If it naps then,
//     for as much longer as P3 and P4 in yield_policy.h have it.)
// Advice only, as the queue is: it says when to try the word, never who owns it (I1, I2).
//
// No hint about other locks, or about the CPU, is as good as that a lock is hot, for as long as it lasts:
//
// P2  Who polls because the lock is hot stops when it finds that it is not.
#ifndef HF_LOCK_FLEXGUARD_PACE_H
#define HF_LOCK_FLEXGUARD_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/pause.h"

// Releases of a lock, counted by its owners, modulo 65536. Who reaches the word by another way (glibc's functions)
// counts nothing: then the head takes the word when it sees it free twice.
typedef uint16_t hf_release_count;

// Long enough that moving the lock to another CPU, about a microsecond, does not matter, and that a batch of a hot lock
// has over a thousand sections: then less than one in a thousand waits for its end. Short enough that nobody notices
// the wait. docs/flexguard.md, "Batches".
enum {
    HF_PACE_SLICE_NS = 200 * 1000,
    // Some ten sections of a microsecond or two: no more is to be had from more of them.
    HF_PACE_SHORT_SLICE_NS = 40 * 1000,
};

// Where an owner stays away for longer, a waiter gains more by taking the word, or by leaving its CPU to others, than
// the lock loses by moving. docs/flexguard.md, "A hot lock".
enum {
    HF_HOT_NS = 160,
    HF_HOT_WINDOW_NS = 2 * HF_HOT_NS, // found out no faster
    HF_COLD_NS = 1000,                // or if there was no release for so long
};

// How long who polls rests between two looks.
enum {
    HF_HOT_RESTS = (int)HF_HOT_NS / (int)HF_REST_NS, // before its first one for a hot lock: time for a release
    HF_RESTS_MAX = 31,                               // while the lock is hot: one to two microseconds
    HF_RESTS_MAX_LONG = 127,                         // where sections are longer
};

// A question costs the owner a call of the kernel, a tenth of it.
enum { HF_ASK_NS = 4 * 1000 };

struct hf_pace {
    uint64_t slice_end_ns;
    uint64_t window_ns;      // begin of the time in which releases are counted,
    hf_release_count window; // and their count then
    hf_release_count seen;   // count at the last look that found the word FREE
    hf_release_count asked;  // count at the last question, or the first look
    uint64_t ask_ns;         // not before
    bool hot;
    bool batches; // it is to be left to its owner even if it is not hot: the caller's to say, while there is time
    bool warm;    // a release has been seen, or waited for in vain
};

// The first look, at the time `now_ns` (CLOCK_MONOTONIC).
static inline struct hf_pace hf_pace_begin(hf_release_count releases, uint64_t now_ns) {
    return (struct hf_pace){.slice_end_ns = now_ns + HF_PACE_SLICE_NS,
                            .window_ns = now_ns,
                            .window = releases,
                            .seen = releases,
                            .asked = releases,
                            .ask_ns = now_ns + HF_ASK_NS,
                            .hot = true,
                            .batches = false,
                            .warm = false};
}

// The first look of a waiter that has left its CPU to others meanwhile: it takes the word when it is FREE.
static inline struct hf_pace hf_pace_begin_after_slice(hf_release_count releases, uint64_t now_ns) {
    struct hf_pace pace = hf_pace_begin(releases, now_ns);
    pace.slice_end_ns = now_ns;
    return pace;
}

// Of a lock that is not hot. Who has waited for longer looks as often as it can, and asks.
static inline bool hf_pace_has_time_for_batches(const struct hf_pace *pace, uint64_t now_ns) {
    return now_ns < pace->slice_end_ns + HF_PACE_SLICE_NS;
}

static inline bool hf_pace_may_leave(const struct hf_pace *pace) {
    return pace->hot || pace->batches;
}

// A later look that found the word FREE: whether to take it, by what was known before. Needs no clock, which would be
// time for the owner to come back.
static inline bool hf_pace_takes_at_once(const struct hf_pace *pace, hf_release_count releases) {
    return !hf_pace_may_leave(pace) || releases == pace->seen;
}

// A later look, with the word FREE or not.
static inline void hf_pace_learn(struct hf_pace *pace, bool is_free, hf_release_count releases, uint64_t now_ns) {
    if (is_free)
        pace->seen = releases;
    uint64_t age_ns = hf_ns_since(pace->window_ns, now_ns);
    hf_release_count since = (hf_release_count)(releases - pace->window);
    // Who has just got the lock has cold caches. Its first section says nothing about the next ones.
    bool first_release = !pace->warm && since != 0;
    if (!first_release && age_ns < (pace->warm ? HF_HOT_WINDOW_NS : HF_COLD_NS))
        return;
    pace->warm = true;
    pace->hot = first_release || since * (uint64_t)HF_HOT_NS + HF_HOT_NS / 2 >= age_ns;
    pace->window = releases;
    pace->window_ns = now_ns;
}

// A pause at least, and so many rests.
static inline void hf_pause_and_rest(int rests) {
    hf_pause();
    while (rests-- > 0)
        hf_rest();
}

// After a look, before which there were `rests`.
static inline int hf_rests_before_next_look(int rests, const struct hf_pace *pace) {
    if (!hf_pace_may_leave(pace))
        return 0;
    return rests < (pace->hot ? HF_RESTS_MAX : HF_RESTS_MAX_LONG) ? 2 * rests + 1 : rests;
}

// After hf_pace_learn, with the word held: whether to ask its owner for it. True once, for HF_ASK_NS and a release.
static inline bool hf_pace_asks(struct hf_pace *pace, hf_release_count releases, uint64_t now_ns) {
    if (hf_pace_may_leave(pace) || releases == pace->asked || now_ns < pace->ask_ns)
        return false;
    pace->asked = releases;
    pace->ask_ns = now_ns + HF_ASK_NS;
    return true;
}

// After hf_pace_learn, with the word FREE: whether to take it, whether batches pay or not.
static inline bool hf_pace_takes(const struct hf_pace *pace, uint64_t now_ns) {
    uint64_t cut_ns = pace->hot ? 0 : HF_PACE_SLICE_NS - HF_PACE_SHORT_SLICE_NS;
    return !hf_pace_may_leave(pace) || now_ns + cut_ns >= pace->slice_end_ns;
}

#endif
