// SPDX-License-Identifier: MIT OR Apache-2.0
// The spin budget: how long a waiter polls. It polls while the hint says that spinning pays, for a set number of polls.
// For a lock that many threads want the number counts from the last progress on, since a waiter's turn comes later than
// that where a hundred are before it:
//
//     polls_left used up  --- progress since the last such moment, and so not more than
//            |                HF_SPIN_BUDGET_RENEWALS times ---> the whole budget again
//            |
//            +--- none: the holder is stuck or gone, or a place in the queue was lost ---> the budget is spent
//
// Progress is sampled as seldom as that: it lies in the lock's line, which others need.
//
// How long that is: FlexGuard's waiters and those of reader-writer locks have HF_SPIN_BUDGET_POLLS, 0.2 to 0.7 ms at a
// pause of 14 to 40 ns a poll (base/pause.h); with all renewals, for which releases must be seen, 33 times as many, 8
// to 22 ms. FlexGuard's waiter begins its budget anew, once, when it becomes the head of the queue (queue.I5,
// lock/wait/waiter_queue.h).
#ifndef HF_LOCK_WAIT_SPIN_BUDGET_H
#define HF_LOCK_WAIT_SPIN_BUDGET_H

#include "base/pause.h"
#include "base/poll.h"
#include "hint/freshness.h"
#include "hint/hint.h"
#include "lock/wait/tuning.h"

struct hf_spin_budget {
    int polls_left;
    int polls;                // anew
    int renewals_left;        // 0 also where nothing tells of progress
    const uint16_t *progress; // changes with it: a lock's count of releases
    uint16_t seen;
};

static inline struct hf_spin_budget hf_spin_budget_of(int polls, const uint16_t *progress) {
    return (struct hf_spin_budget){polls, polls, HF_SPIN_BUDGET_RENEWALS, progress, hf_load_relaxed(progress)};
}

static inline bool hf_spin_budget_renewed(struct hf_spin_budget *budget) {
    if (budget->renewals_left == 0)
        return false;
    uint16_t now = hf_load_relaxed(budget->progress);
    if (now == budget->seen)
        return false;
    budget->seen = now;
    budget->renewals_left--;
    budget->polls_left = budget->polls;
    return true;
}

// Asked after so many polls (or as many timed pauses) that found nothing.
static inline bool hf_spin_budget_lasts(struct hf_spin_budget *budget, int polls) {
    if (!hf_spinning_pays() || (budget->polls_left <= 0 && !hf_spin_budget_renewed(budget)))
        return false;
    budget->polls_left -= polls;
    return (budget->polls_left & (HF_SPIN_BUDGET_FRESHNESS_POLLS - 1)) >= polls || hf_hint_is_fresh();
}

// How many polls from now on change nothing but polls_left (base/poll.h).
static inline int hf_spin_budget_polls_alike(const struct hf_spin_budget *budget) {
    return budget->polls_left > 0 ? (budget->polls_left - 1) & (HF_SPIN_BUDGET_FRESHNESS_POLLS - 1) : 0;
}

// The same after each poll; makes a timed pause (base/pause.h) while the budget lasts.
static inline bool hf_spin_budget_left(struct hf_spin_budget *budget) {
    if (!hf_spin_budget_lasts(budget, 1))
        return false;
    hf_timed_pause();
    hf_polls_alike_counted(budget->polls_left, -1, hf_spin_budget_polls_alike(budget));
    return true;
}

#endif
