// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting for a reader-writer lock. What it is, its states, its invariants, and all that needs no waiting:
// read_write_state.h.
#ifndef HF_LOCK_POSIX_READ_WRITE_LOCK_H
#define HF_LOCK_POSIX_READ_WRITE_LOCK_H

#include "lock/posix/read_write_state.h"
#include "park/deadline.h"

#ifdef __cplusplus
extern "C" {
#endif

// Waits for the end of the writer, after hf_rw_read_begin. Returns 0 with the lock held for reading;
// or ETIMEDOUT or EAGAIN, not counted and not critical any more.
int hf_rw_wait_to_read(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// Takes a lock that prefers writers for reading, neither counted nor critical yet. Returns 0 with the lock held, EAGAIN
// or ETIMEDOUT.
int hf_rw_wait_behind_writers(struct hf_rw_lock *lock, struct hf_thread_record *self,
                              const struct hf_deadline *deadline) __attribute__((cold, visibility("hidden")));

// Waits to write, not critical yet. Returns 0 with the lock held for writing and the caller critical, or ETIMEDOUT.
int hf_rw_wait_to_write(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// The same in a lock that prefers writers.
int hf_rw_wait_to_write_first(struct hf_rw_lock *lock, struct hf_thread_record *self,
                              const struct hf_deadline *deadline) __attribute__((cold, visibility("hidden")));

// A lock that does not prefer writers, for reading. Returns 0, ETIMEDOUT or EAGAIN.
static inline int hf_rw_read_acquire(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                     const struct hf_deadline *deadline) {
    return HF_LIKELY(hf_rw_has_begun(hf_rw_read_begin(lock, self))) ? 0 : hf_rw_wait_to_read(lock, self, deadline);
}

// The same, for writing. Returns 0 or ETIMEDOUT.
static inline int hf_rw_write_acquire(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                      const struct hf_deadline *deadline) {
    return HF_LIKELY(hf_rw_write_try_acquire(lock, self)) ? 0 : hf_rw_wait_to_write(lock, self, deadline);
}

#ifdef __cplusplus
}
#endif

#endif
