// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a waiter polls that is in no queue: while the hint says that spinning pays, and a set number of polls.
#ifndef HF_HINT_PATIENCE_H
#define HF_HINT_PATIENCE_H

#include "base/rest.h"
#include "hint/hint.h"

struct hf_patience {
    int polls_left;
};

enum { HF_PATIENCE_FRESHNESS_POLLS = 1 << 10 };

// Asked after each poll that found nothing; rests (base/rest.h) when there is patience left.
static inline bool hf_patience_left(struct hf_patience *patience) {
    if (patience->polls_left-- <= 0 || !hf_spinning_pays())
        return false;
    if (patience->polls_left % HF_PATIENCE_FRESHNESS_POLLS == 0 && !hf_hint_is_fresh())
        return false;
    hf_rest();
    return true;
}

#endif
