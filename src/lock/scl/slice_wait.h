// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting in the queue of slices: when a waiter sleeps, for how long, and when it polls.
#ifndef HF_LOCK_SCL_SLICE_WAIT_H
#define HF_LOCK_SCL_SLICE_WAIT_H

#include "lock/scl/slices.h"
#include "observe/observation.h"
#include "park/futex.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline void hf_slice_wake_up(hf_slice_wake word) {
    if (word)
        hf_futex_wake(word, 1);
}

// Waits until the waiter, which has joined, is chosen. Returns 0; or ETIMEDOUT, having left the queue. What it sleeps
// is noted in *wait.
int hf_slices_await(struct hf_slices *slices, struct hf_slice_waiter *waiter, struct hf_thread_record *self,
                    const struct hf_deadline *deadline, struct hf_wait *wait);

#ifdef __cplusplus
}
#endif

#endif
