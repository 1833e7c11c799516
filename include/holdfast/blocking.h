// SPDX-License-Identifier: MIT OR Apache-2.0
// The pure blocking lock: one compare-and-swap when free, and every waiter sleeps in the kernel (the three-state futex
// lock of Drepper, "Futexes Are Tricky", section 6). The yardstick for oversubscribed programs. Not fair.
#ifndef HOLDFAST_BLOCKING_H
#define HOLDFAST_BLOCKING_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_blocking {
    uint32_t word;
} hf_blocking_t;

#define HF_BLOCKING_INIT                                                                                               \
    { 0 }

// Makes the lock free. Zeroed memory is a free lock too; there is nothing to destroy.
static inline void hf_blocking_init(hf_blocking_t *lock) {
    hf_blocking_t fresh = HF_BLOCKING_INIT;
    *lock = fresh;
}

// Takes the lock; waits while another thread has it. Requires that the caller does not hold it. What the last holder
// wrote is visible afterwards.
HF_API void hf_blocking_lock(hf_blocking_t *lock);

// Takes the lock if it is free at once, and says whether it did. Never waits and never fails spuriously.
HF_API bool hf_blocking_trylock(hf_blocking_t *lock);

// Takes the lock, or gives up at the absolute time `deadline` on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC).
// Returns 0; ETIMEDOUT; or EINVAL, without waiting, when the lock is held and the clock is another one or
// deadline->tv_nsec is not within 0 to 999,999,999. A deadline in the past is allowed: the lock is tried once.
HF_API int hf_blocking_clocklock(hf_blocking_t *lock, int clock, const struct timespec *deadline);

// Gives the lock back. Requires that the calling thread holds it. Once another thread has the lock it may free the
// lock's memory, even before this call has returned.
HF_API void hf_blocking_unlock(hf_blocking_t *lock);

#ifdef __cplusplus
}
#endif

#endif
