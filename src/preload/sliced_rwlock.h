// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_rwlock_t as RW-SCL ("rwlock:rw-scl", "rwlock@PLACE:rw-scl"): a pointer to a lock in the table
// (lock/scl/rwscl_table.h), made at the first use. A lock that prefers writers
// (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) is none: its readers are to stand behind a writer that waits. Nor is
// one for which there is no memory.
//
// POSIX's locks nest for reading. So a thread notes what it reads (thread/reads_held.h), and enters again without
// waiting for a writer that waits for it (rwscl.RS6).
#ifndef HF_PRELOAD_SLICED_RWLOCK_H
#define HF_PRELOAD_SLICED_RWLOCK_H

#include "preload/rwlock_layout.h"

// Is it one, if the policy or its rule says so? The same at each call. It is made with these options at the first.
bool hf_rwlock_is_sliced(struct hf_rwlock *rwlock, const struct hf_rwscl_options *options);

// For a lock that is one: POSIX's functions, with deadlines that are valid (NULL: none).
int hf_sliced_read(struct hf_rwlock *rwlock, const struct hf_deadline *deadline);
int hf_sliced_try_read(struct hf_rwlock *rwlock);
int hf_sliced_write(struct hf_rwlock *rwlock, const struct hf_deadline *deadline);
int hf_sliced_try_write(struct hf_rwlock *rwlock);
void hf_sliced_unlock(struct hf_rwlock *rwlock);

// The lock is destroyed.
void hf_sliced_forget(struct hf_rwlock *rwlock);

#endif
