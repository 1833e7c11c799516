// SPDX-License-Identifier: MIT OR Apache-2.0
// What a waiter does between two polls of a lock whose waiters do nothing but poll (ttas, ticket, mcs).
//
// A real-time thread that polls keeps its CPU from every thread of a lower priority, for ever, and one of these may be
// the lock's owner. (stress-ng --mutex ends so: its threads lower their priority while they have the mutex.) So it
// sleeps, for longer and longer, as soon as it is clear that the lock isn't held for moments only.
#ifndef HF_THREAD_POLL_PAUSE_H
#define HF_THREAD_POLL_PAUSE_H

#include <stdint.h>

#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// Zeroed when the wait begins.
struct hf_poll_pause {
    uint32_t polls;
    uint32_t sleep_ns; // the next one; 0: none yet
};

enum {
    HF_POLLS_BEFORE_SLEEP = 1 << 12,    // some 100 us
    HF_POLLS_BEFORE_QUESTION = 1 << 20, // whether it is a real-time thread where none is expected
};

void hf_poll_pause_or_sleep(struct hf_poll_pause *pause) __attribute__((cold, visibility("hidden")));

static inline void hf_poll_pause(struct hf_poll_pause *pause) {
    hf_pause();
    if (HF_UNLIKELY(++pause->polls % HF_POLLS_BEFORE_SLEEP == 0 || pause->sleep_ns != 0))
        hf_poll_pause_or_sleep(pause);
}

// How many pauses are certain to be no sleep, for hf_polls_alike_counted (base/poll.h).
static inline uint32_t hf_polls_before_sleep(const struct hf_poll_pause *pause) {
    return pause->sleep_ns ? 0 : HF_POLLS_BEFORE_SLEEP - 1 - pause->polls % HF_POLLS_BEFORE_SLEEP;
}

#ifdef __cplusplus
}
#endif

#endif
