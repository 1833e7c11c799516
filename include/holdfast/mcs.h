// SPDX-License-Identifier: MIT OR Apache-2.0
// MCS queue lock (Mellor-Crummey and Scott, TOCS '91, section 2.4): first come, first served; each waiter polls a line
// of its own. Never sleeps, so it collapses as soon as the holder or anybody in the queue is preempted. A yardstick.
// Nodes come from the calling thread's store, so no node is passed in. Waiters can't leave the queue: no timed lock.
#ifndef HOLDFAST_MCS_H
#define HOLDFAST_MCS_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

// Both fields are private. `holder` is the owner's node, kept here for its unlock.
typedef struct hf_mcs {
    struct hf_queue_node *tail;
    struct hf_queue_node *holder;
} hf_mcs_t;

#define HF_MCS_INIT                                                                                                    \
    { 0, 0 }

// Makes the lock free. Zeroed memory is a free lock too; there is nothing to destroy.
static inline void hf_mcs_init(hf_mcs_t *lock) {
    hf_mcs_t fresh = HF_MCS_INIT;
    *lock = fresh;
}

// Takes the lock; waits while another thread has it. Requires that the caller does not hold it. What the last holder
// wrote is visible afterwards.
HF_API void hf_mcs_lock(hf_mcs_t *lock);

// Takes the lock if it is free at once, and says whether it did. Never waits and never fails spuriously.
HF_API bool hf_mcs_trylock(hf_mcs_t *lock);

// Gives the lock back. Requires that the calling thread holds it. Once another thread has the lock it may free the
// lock's memory, even before this call has returned.
HF_API void hf_mcs_unlock(hf_mcs_t *lock);

#ifdef __cplusplus
}
#endif

#endif
