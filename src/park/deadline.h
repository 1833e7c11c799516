// SPDX-License-Identifier: MIT OR Apache-2.0
// Checking and comparing the deadlines that callers pass to timed locks.
#ifndef HF_PARK_DEADLINE_H
#define HF_PARK_DEADLINE_H

#include <stdbool.h>

#include "park/futex.h"

static inline bool hf_deadline_is_valid(const struct hf_deadline *deadline) {
    return (deadline->clock == CLOCK_REALTIME || deadline->clock == CLOCK_MONOTONIC) && deadline->at.tv_nsec >= 0 &&
           deadline->at.tv_nsec < 1000000000;
}

static inline bool hf_deadline_has_passed(const struct hf_deadline *deadline) {
    struct timespec now;
    clock_gettime(deadline->clock, &now);
    return now.tv_sec > deadline->at.tv_sec ||
           (now.tv_sec == deadline->at.tv_sec && now.tv_nsec >= deadline->at.tv_nsec);
}

#endif
