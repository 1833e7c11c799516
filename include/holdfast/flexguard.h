// SPDX-License-Identifier: MIT OR Apache-2.0
// FlexGuard: a mutex whose waiters spin while every lock holder is running and block from the moment the kernel
// reports that one is not (Laforet et al., SOSP '25, section 3). Without a Preemption Monitor its waiters
// block, but poll a lock that is released all the time.
//
// Guarantees: mutual exclusion; no wake-up is lost, whatever the monitor says or does; waiting threads that spin are
// bounded in number of polls. Bounded waiting: a waiter that has waited for HF_FLEXGUARD_SLICE_NS, while the lock was
// given back as often as the process has threads, goes before all that have waited for less: the lock is handed over to
// it. So none waits for longer than twice what a first come, first served lock would make it wait and twice that slice,
// as far as it gets a CPU when it wants one; not in a process with real-time threads, which go first, and not with
// bias=latency. Not guaranteed: first come, first served. Requires that all who use one lock use the same
// copy of the library.
#ifndef HOLDFAST_FLEXGUARD_H
#define HOLDFAST_FLEXGUARD_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

// 20 ms.
#define HF_FLEXGUARD_SLICE_NS 20000000

// The fields are private. 16 bytes.
typedef struct hf_flexguard {
    uint32_t word;
    uint16_t releases;
    uint8_t fenced;
    struct hf_thread_record *queue_tail;
} hf_flexguard_t;

#define HF_FLEXGUARD_INIT                                                                                              \
    { 0, 0, 0, 0 }

// Makes the lock free. Zeroed memory is a free lock too; there is nothing to destroy.
static inline void hf_flexguard_init(hf_flexguard_t *lock) {
    hf_flexguard_t fresh = HF_FLEXGUARD_INIT;
    *lock = fresh;
}

// Takes the lock; waits while another thread has it. Requires that the caller does not hold it. What the last holder
// wrote is visible afterwards.
HF_API void hf_flexguard_lock(hf_flexguard_t *lock);

// Takes the lock if it is free at once, and says whether it did. Never waits and never fails spuriously.
HF_API bool hf_flexguard_trylock(hf_flexguard_t *lock);

// Takes the lock, or gives up at the absolute time `deadline` on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC).
// Returns 0; ETIMEDOUT; or EINVAL, without waiting, when the lock is held and the clock is another one or
// deadline->tv_nsec is not within 0 to 999,999,999. A deadline in the past is allowed: the lock is tried once.
HF_API int hf_flexguard_clocklock(hf_flexguard_t *lock, int clock, const struct timespec *deadline);

// Gives the lock back. Requires that the calling thread holds it. Once another thread has the lock it may free the
// lock's memory, even before this call has returned.
HF_API void hf_flexguard_unlock(hf_flexguard_t *lock);

#ifdef __cplusplus
}
#endif

#endif
