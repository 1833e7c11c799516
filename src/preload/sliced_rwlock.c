// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/sliced_rwlock.h"

#include <errno.h>

#include "lock/scl/rwscl_state.h"

bool hf_rwlock_is_sliced(struct hf_rwlock *rwlock, const struct hf_rwscl_options *options) {
    return !hf_rwlock_prefers_writers(rwlock) && hf_rwscl_of(rwlock, &rwlock->sliced, options) != NULL;
}

// Of a lock that is one.
static inline hf_rwscl_t *lock_of(struct hf_rwlock *rwlock) {
    return &hf_load_acquire(&rwlock->sliced)->lock;
}

// For threads without a record of their own: any lock may be one that they read.
static inline bool may_read_already(struct hf_thread_record *self, const hf_rwscl_t *lock) {
    const struct hf_reads_held *reads = hf_reads_of(self);
    return HF_UNLIKELY(!reads) || hf_reads_include(reads, lock);
}

static inline int note_read(struct hf_thread_record *self, const hf_rwscl_t *lock) {
    struct hf_reads_held *reads = hf_reads_of(self);
    if (HF_LIKELY(reads != NULL))
        hf_reads_add(reads, lock);
    return 0;
}

int hf_sliced_read(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    hf_rwscl_t *lock = lock_of(rwlock);
    int error = 0;
    if (HF_UNLIKELY(hf_rwlock_is_writer(rwlock, self)))
        return EDEADLK;
    if (HF_UNLIKELY(may_read_already(self, lock)) && hf_rwscl_read_again(lock, self))
        return note_read(self, lock);
    if (deadline)
        error = hf_rwscl_read_clocklock(lock, deadline->clock, &deadline->at);
    else
        hf_rwscl_read_lock(lock);
    return error ? error : note_read(self, lock);
}

int hf_sliced_try_read(struct hf_rwlock *rwlock) {
    struct hf_thread_record *self = hf_self();
    hf_rwscl_t *lock = lock_of(rwlock);
    if ((may_read_already(self, lock) && hf_rwscl_read_again(lock, self)) || hf_rwscl_read_trylock(lock))
        return note_read(self, lock);
    return EBUSY;
}

int hf_sliced_write(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    hf_rwscl_t *lock = lock_of(rwlock);
    int error = 0;
    if (HF_UNLIKELY(hf_rwlock_is_writer(rwlock, self)))
        return EDEADLK;
    if (deadline)
        error = hf_rwscl_write_clocklock(lock, deadline->clock, &deadline->at);
    else
        hf_rwscl_write_lock(lock);
    if (!error)
        hf_rwlock_become_writer(rwlock, self);
    return error;
}

int hf_sliced_try_write(struct hf_rwlock *rwlock) {
    if (!hf_rwscl_write_trylock(lock_of(rwlock)))
        return EBUSY;
    hf_rwlock_become_writer(rwlock, hf_self());
    return 0;
}

void hf_sliced_unlock(struct hf_rwlock *rwlock) {
    hf_rwscl_t *lock = lock_of(rwlock);
    // Asked by a holder only. While one reads nobody writes, and the last writer's 0 is visible to it.
    if (hf_load_relaxed(&rwlock->writer) != 0) {
        hf_store_relaxed(&rwlock->writer, 0);
        hf_rwscl_write_unlock(lock);
        return;
    }
    struct hf_thread_record *self = hf_self();
    struct hf_reads_held *reads = hf_reads_of(self);
    if (HF_LIKELY(reads != NULL))
        hf_reads_remove(reads, lock);
    hf_rwscl_read_unlock(lock);
}

void hf_sliced_forget(struct hf_rwlock *rwlock) {
    if (hf_load_relaxed(&rwlock->sliced))
        hf_rwscl_give_back(rwlock, &rwlock->sliced);
}
