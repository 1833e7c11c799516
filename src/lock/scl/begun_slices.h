// SPDX-License-Identifier: MIT OR Apache-2.0
// The slices that a thread has begun at the locks that it came to last. One that sleeps for another lock, or exits,
// can't use them: they are for those who wait there.
#ifndef HF_LOCK_SCL_BEGUN_SLICES_H
#define HF_LOCK_SCL_BEGUN_SLICES_H

#include "lock/scl/slices.h"

#ifdef __cplusplus
extern "C" {
#endif

// The caller has begun a slice.
void hf_begun_slices_add(struct hf_slices *slices, struct hf_thread_record *self);

#ifdef __cplusplus
}
#endif

#endif
