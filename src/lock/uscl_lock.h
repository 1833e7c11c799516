// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL's lock and unlock on a word and a pointer to slices wherever these lie: side by side in hf_uscl_t, apart inside
// pthread_mutex_t. States and invariants: uscl_lock.c.
#ifndef HF_LOCK_USCL_LOCK_H
#define HF_LOCK_USCL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/slices.h"
#include "park/futex.h"

#ifdef __cplusplus
extern "C" {
#endif

// A lock's options: its slice in microseconds plus one, or 0 for the process's; and a bit.
enum {
    HF_USCL_SLICE_BITS = (1 << 30) - 1,
    HF_USCL_WORK_CONSERVING = 1 << 30,
};

// Where a lock's parts are. Zero at first.
struct hf_uscl_parts {
    uint32_t *word;
    struct hf_slices **slices;
    const uint32_t *options;
};

// Takes the lock. Returns 0, or ETIMEDOUT at the deadline (NULL: none; must be valid).
int hf_uscl_acquire(struct hf_uscl_parts lock, struct hf_thread_record *self, const struct hf_deadline *deadline);

// Takes the lock if it is free, whosever the slice is.
bool hf_uscl_try_acquire(struct hf_uscl_parts lock, struct hf_thread_record *self);

// Gives the lock back.
void hf_uscl_release(struct hf_uscl_parts lock, struct hf_thread_record *self);

// The owner is about to give the lock back, here or by the word alone, in order to wait for a condition: what it has
// used is counted, and the rest of its slice is somebody else's. May be followed by hf_uscl_release.
void hf_uscl_stand_aside(struct hf_uscl_parts lock, struct hf_thread_record *self);

// Gives back what the lock has allocated, when nobody uses it.
void hf_uscl_give_back(struct hf_uscl_parts lock, struct hf_thread_record *self);

// The slice of locks whose options say none. Not above HF_USCL_SLICE_US_MAX.
void hf_uscl_use_slice(uint32_t slice_us);

#ifdef __cplusplus
}
#endif

#endif
