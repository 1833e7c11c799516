// SPDX-License-Identifier: MIT OR Apache-2.0
// When a writer that spins for a reader-writer lock announces a sleeper.
//
// Threads that come back for the lock at once leave it free for some nanoseconds, which a poll hardly ever meets. So
// where the lock is released, and the writer does not get it, the writer announces a sleeper: the next thread that
// leaves the lock free calls the kernel, and leaves it free for that long. A mutex's waiters do the same
// (lock/wait/defer_policy.h).
//
//     polls in vain --- HF_RW_ANNOUNCE_POLLS of them, and a release meanwhile ---> announces, and begins to count anew
//                  `--- as many, and none ---> begins to count anew: its holder is inside
//
// Advice only: WRITERS_SLEEP may be set whether anybody sleeps or not (rwlock.RW2).
// Test: tests/lock/posix/announcements_test.
#ifndef HF_LOCK_POSIX_ANNOUNCEMENTS_H
#define HF_LOCK_POSIX_ANNOUNCEMENTS_H

#include <stdbool.h>

#include "base/atomic.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/tuning.h"

struct hf_rw_announcements {
    int polls_left; // of the spin budget, at the last count
    hf_release_count seen;
};

static inline struct hf_rw_announcements hf_rw_announcements_begin(int polls_left, const hf_release_count *releases) {
    return (struct hf_rw_announcements){polls_left, hf_load_relaxed(releases)};
}

// After a poll in vain, with so many left: whether to announce now. More than before: the budget is a new one.
static inline bool hf_rw_announces(struct hf_rw_announcements *announcements, int polls_left,
                                   const hf_release_count *releases) {
    int polls = announcements->polls_left - polls_left;
    if (polls >= 0 && polls < HF_RW_ANNOUNCE_POLLS)
        return false;
    hf_release_count seen = announcements->seen;
    *announcements = hf_rw_announcements_begin(polls_left, releases);
    return announcements->seen != seen;
}

#endif
