// SPDX-License-Identifier: MIT OR Apache-2.0
// Deadlines that callers pass to timed locks: checking and comparing them.
#ifndef HF_PARK_DEADLINE_H
#define HF_PARK_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

// The moment at which a wait gives up: absolute, on CLOCK_REALTIME or CLOCK_MONOTONIC.
struct hf_deadline {
    clockid_t clock;
    struct timespec at;
};

static inline bool hf_deadline_is_valid(const struct hf_deadline *deadline) {
    return (deadline->clock == CLOCK_REALTIME || deadline->clock == CLOCK_MONOTONIC) && deadline->at.tv_nsec >= 0 &&
           deadline->at.tv_nsec < 1000000000;
}

static inline bool hf_deadline_has_passed(const struct hf_deadline *deadline) {
    struct timespec now = hf_time_on(deadline->clock);
    return now.tv_sec > deadline->at.tv_sec ||
           (now.tv_sec == deadline->at.tv_sec && now.tv_nsec >= deadline->at.tv_nsec);
}

// Whichever comes first: the caller's deadline (NULL: none), or so many nanoseconds from now.
static inline struct hf_deadline hf_deadline_or_in(const struct hf_deadline *deadline, uint64_t ns) {
    if (deadline) {
        struct timespec now = hf_time_on(deadline->clock);
        // Both are small enough: a deadline that is far is cut off before it is multiplied.
        int64_t s = deadline->at.tv_sec - now.tv_sec;
        if (s < 1000000 && (s < 0 || (double)s * 1e9 + (double)(deadline->at.tv_nsec - now.tv_nsec) < (double)ns))
            return *deadline;
    }
    uint64_t at = hf_monotonic_ns() + ns;
    return (struct hf_deadline){
        .clock = CLOCK_MONOTONIC,
        .at = {.tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u)},
    };
}

#endif
