// SPDX-License-Identifier: MIT OR Apache-2.0
// When who polls takes a free word, and when it leaves it to an owner that keeps coming back for it.
//
// A word that is FREE at a look is no news by itself: an owner that takes it again and again leaves it free for some
// nanoseconds each time. If a waiter takes it there, the lock and what it protects move to another CPU at each release,
// which costs more than the critical section. So the owner counts its releases beside the word, and the waiter compares
// that count between two looks. A lock is hot while one release comes for each HF_HOT_PAUSES of a waiter: somebody who
// runs gives it back every some hundred nanoseconds.
//
//                  not hot: nobody comes back for it soon
//      +-------+ -----------------------------------------------------------> +------+
//      | LEAVE |                                                              | TAKE |
//      +-------+ -----------------------------------------------------------> +------+
//       |     ^    the slice is over: whoever comes back has had its turn,
//       |     |    or batches do not pay for this lock (flexguard_trial.h)
//       +-----+
//       hot since the last look that found it free, within the slice
//
// P1  Bounded. A waiter leaves a free word for HF_PACE_SLICE_NS at most, from its first look on, and never twice
//     without a release in between.
// Advice only, as the queue is: it says when to try the word, never who owns it (I1, I2).
//
// No hint about other locks, or about the CPU, is as good as that a lock is hot, for as long as it lasts:
//
// P2  Who polls because the lock is hot stops at the first look that finds fewer releases than that since the last.
#ifndef HF_LOCK_FLEXGUARD_PACE_H
#define HF_LOCK_FLEXGUARD_PACE_H

#include <stdbool.h>
#include <stdint.h>

// Releases of a lock, counted by its owners, modulo 65536. Who reaches the word by another way (glibc's functions)
// counts nothing: then the head takes the word when it sees it free twice.
typedef uint16_t hf_release_count;

// Long enough that moving the lock to another CPU, about a microsecond, does not matter; short enough that nobody
// notices the wait. docs/flexguard.md, "Batches".
enum { HF_PACE_SLICE_NS = 100 * 1000 };

// Some 150 ns. Where an owner stays away for longer, a waiter gains more by taking the word, or by leaving its CPU to
// others, than the lock loses by moving. docs/flexguard.md, "A hot lock".
enum { HF_HOT_PAUSES = 4 };

// A look, so many pauses after the one that found the count `*seen`: whether the lock is hot.
static inline bool hf_lock_is_hot(hf_release_count *seen, hf_release_count releases, unsigned pauses) {
    hf_release_count since = (hf_release_count)(releases - *seen);
    *seen = releases;
    return since * (unsigned)HF_HOT_PAUSES >= pauses;
}

struct hf_pace {
    uint64_t slice_end_ns;
    unsigned pauses; // since `seen` was so
    hf_release_count seen;
};

// The first look of a head, at the time `now_ns` (CLOCK_MONOTONIC).
static inline struct hf_pace hf_pace_begin(hf_release_count releases, uint64_t now_ns) {
    return (struct hf_pace){.slice_end_ns = now_ns + HF_PACE_SLICE_NS, .pauses = 0, .seen = releases};
}

// Before each later look.
static inline void hf_pace_paused(struct hf_pace *pace, unsigned pauses) {
    pace->pauses += pauses;
}

static inline bool hf_pace_slice_is_over(const struct hf_pace *pace, uint64_t now_ns) {
    return now_ns >= pace->slice_end_ns;
}

// A later look that found the word FREE: whether to take it, whether batches pay or not.
static inline bool hf_pace_takes(struct hf_pace *pace, hf_release_count releases, uint64_t now_ns) {
    unsigned pauses = pace->pauses;
    pace->pauses = 0;
    return !hf_lock_is_hot(&pace->seen, releases, pauses) || hf_pace_slice_is_over(pace, now_ns);
}

#endif
