// SPDX-License-Identifier: MIT OR Apache-2.0
// Ticket lock: first come, first served; waiters poll the number that is being served. Never sleeps, so it collapses as
// soon as the holder or the next in line is preempted. A yardstick. Waiters can't leave the line: no timed lock.
#ifndef HOLDFAST_TICKET_H
#define HOLDFAST_TICKET_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_ticket {
    uint32_t next;
    uint32_t serving;
} hf_ticket_t;

#define HF_TICKET_INIT                                                                                                 \
    { 0, 0 }

// Makes the lock free. Zeroed memory is a free lock too; there is nothing to destroy.
static inline void hf_ticket_init(hf_ticket_t *lock) {
    hf_ticket_t fresh = HF_TICKET_INIT;
    *lock = fresh;
}

// Takes the lock; waits while another thread has it. Requires that the caller does not hold it. What the last holder
// wrote is visible afterwards.
HF_API void hf_ticket_lock(hf_ticket_t *lock);

// Takes the lock if it is free at once, and says whether it did. Never waits and never fails spuriously.
HF_API bool hf_ticket_trylock(hf_ticket_t *lock);

// Gives the lock back. Requires that the calling thread holds it. Once another thread has the lock it may free the
// lock's memory, even before this call has returned.
HF_API void hf_ticket_unlock(hf_ticket_t *lock);

#ifdef __cplusplus
}
#endif

#endif
