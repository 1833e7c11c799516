// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a waiter polls: while the hint says that spinning pays, and a set number of polls. Of a lock that many want
// it counts from the last progress on, since somebody's turn comes later than that where a hundred are before it:
//
//     polls_left used up  --- progress since the last such moment, and so not more than HF_PATIENCE_RENEWALS ---> anew
//            |
//            +--- none: the holder is stuck or gone, or a place in the queue was lost ---> no patience
//
// What tells of progress is looked at as seldom as that: it lies in the lock's line, which others need.
#ifndef HF_HINT_PATIENCE_H
#define HF_HINT_PATIENCE_H

#include "base/pause.h"
#include "base/poll.h"
#include "hint/hint.h"

struct hf_patience {
    int polls_left;
    int polls;                // anew
    int renewals_left;        // 0 also where nothing tells of progress
    const uint16_t *progress; // changes with it: a lock's count of releases
    uint16_t seen;
};

enum {
    HF_PATIENCE_FRESHNESS_POLLS = 1 << 10,
    // The longest wait is so many times the patience where the lock is used all the time and the waiter's turn does not
    // come (I5, lock/wait/waiter_queue.h): a thirtieth of a second.
    HF_PATIENCE_RENEWALS = 32,
};

static inline struct hf_patience hf_patience_while(int polls, const uint16_t *progress) {
    return (struct hf_patience){polls, polls, HF_PATIENCE_RENEWALS, progress, hf_load_relaxed(progress)};
}

static inline bool hf_patience_renewed(struct hf_patience *patience) {
    if (patience->renewals_left == 0)
        return false;
    uint16_t now = hf_load_relaxed(patience->progress);
    if (now == patience->seen)
        return false;
    patience->seen = now;
    patience->renewals_left--;
    patience->polls_left = patience->polls;
    return true;
}

// Asked after so many polls (or as many rests) that found nothing.
static inline bool hf_patience_lasts(struct hf_patience *patience, int polls) {
    if (!hf_spinning_pays() || (patience->polls_left <= 0 && !hf_patience_renewed(patience)))
        return false;
    patience->polls_left -= polls;
    return (patience->polls_left & (HF_PATIENCE_FRESHNESS_POLLS - 1)) >= polls || hf_hint_is_fresh();
}

// How many polls from now on change nothing but polls_left (base/poll.h).
static inline int hf_patience_polls_alike(const struct hf_patience *patience) {
    return patience->polls_left > 0 ? (patience->polls_left - 1) & (HF_PATIENCE_FRESHNESS_POLLS - 1) : 0;
}

// The same after each poll; rests (base/pause.h) when there is patience left.
static inline bool hf_patience_left(struct hf_patience *patience) {
    if (!hf_patience_lasts(patience, 1))
        return false;
    hf_rest();
    hf_polls_alike_counted(patience->polls_left, -1, hf_patience_polls_alike(patience));
    return true;
}

#endif
