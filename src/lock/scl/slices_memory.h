// SPDX-License-Identifier: MIT OR Apache-2.0
// Where slices and shares come from, and the guard of slices, which is a new one in a forked child. Both are immortal
// (uscl.U4, slices.h): memory that was one of them is only ever used for another one.
#ifndef HF_LOCK_SCL_SLICES_MEMORY_H
#define HF_LOCK_SCL_SLICES_MEMORY_H

#include <signal.h>

#include "lock/scl/slices_state.h"
#include "park/fork_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

// The slices of the lock at that address: made, or left by a lock that was there before, when there are none yet. NULL:
// no memory. `place` is where the lock keeps the answer.
struct hf_slices *hf_slices_of(const uint32_t *lock, struct hf_slices **place, struct hf_thread_record *self)
    __attribute__((cold));
// What the lock at that address had, if it still has it.
void hf_slices_give_back(struct hf_slices *slices, const uint32_t *lock, struct hf_thread_record *self);

// A share to be filled in, or NULL: no memory.
struct hf_share *hf_share_take(void);
void hf_share_give(struct hf_share *share);

// In a forked child all locks start without slices, before any of them is used: their waiters and guards are the
// parent's.
extern struct hf_fork_guard hf_slices_fork_guard __attribute__((visibility("hidden")));

// The guard. With signals blocked: a thread that a handler stops under it (to collect garbage, say) would stop
// everybody at a lock that is free. `saved`: for the unlock.
void hf_slices_lock(struct hf_slices *slices, struct hf_thread_record *self, sigset_t *saved);
void hf_slices_unlock(struct hf_slices *slices, struct hf_thread_record *self, const sigset_t *saved);

#ifdef __cplusplus
}
#endif

#endif
