// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_rwlock_*: POSIX's errors on top of lock/read_write_lock.h, which lives inside glibc's object.
//
//      bytes   glibc calls it                  Holdfast keeps there
//      0..15   __readers ... __writers_futex   the lock
//     24..27   __cur_writer                    the writer's tid, as glibc
//     28..31   __shared                        as glibc; not 0: the lock is glibc's entirely
//     48..51   __flags                         which of readers and writers it prefers, as glibc
//
// Ours prefers readers, as glibc's do unless they are of the kind PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP: those
// are glibc's.
#include <errno.h>
#include <pthread.h>

#include "lock/read_write_lock.h"
#include "park/deadline.h"
#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

struct hf_rwlock {
    struct hf_rw_lock lock;
    uint64_t unused;
    uint32_t writer;
    uint32_t shared;
};

#define HF_SAME_PLACE(ours, glibcs)                                                                                    \
    _Static_assert(offsetof(struct hf_rwlock, ours) == offsetof(pthread_rwlock_t, __data.glibcs),                      \
                   "as glibc lays it out")
HF_SAME_PLACE(lock, __readers);
HF_SAME_PLACE(writer, __cur_writer);
HF_SAME_PLACE(shared, __shared);

static inline struct hf_rwlock *rwlock_in(pthread_rwlock_t *posix) {
    return (struct hf_rwlock *)posix;
}

static inline bool is_ours(const pthread_rwlock_t *posix) {
    return hf_policy_is_ours(HF_OBJECT_RWLOCK) && posix->__data.__shared == 0 &&
           posix->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static inline bool is_writer(const struct hf_rwlock *rwlock, const struct hf_thread_record *self) {
    // Relaxed: only the caller itself can have stored the caller's tid there.
    return hf_load_relaxed(&rwlock->writer) == hf_tid(self);
}

static inline int finish(int error, struct hf_thread_record *self) {
    if (HF_LIKELY(!error))
        hf_count(self, acquisitions);
    return error;
}

static int read_acquire(pthread_rwlock_t *posix, const struct hf_deadline *deadline) {
    struct hf_rwlock *rwlock = rwlock_in(posix);
    struct hf_thread_record *self = hf_self();
    if (deadline && !hf_deadline_is_valid(deadline))
        return EINVAL;
    if (HF_UNLIKELY(is_writer(rwlock, self)))
        return EDEADLK;
    return finish(hf_rw_read_acquire(&rwlock->lock, self, deadline), self);
}

static int write_acquire(pthread_rwlock_t *posix, const struct hf_deadline *deadline) {
    struct hf_rwlock *rwlock = rwlock_in(posix);
    struct hf_thread_record *self = hf_self();
    if (deadline && !hf_deadline_is_valid(deadline))
        return EINVAL;
    if (HF_UNLIKELY(is_writer(rwlock, self)))
        return EDEADLK;
    int error = hf_rw_write_acquire(&rwlock->lock, self, deadline);
    if (!error)
        hf_store_relaxed(&rwlock->writer, hf_tid(self));
    return finish(error, self);
}

static int interposed_rdlock(pthread_rwlock_t *posix) {
    return is_ours(posix) ? read_acquire(posix, NULL) : hf_glibc()->rwlock_rdlock(posix);
}

static int interposed_wrlock(pthread_rwlock_t *posix) {
    return is_ours(posix) ? write_acquire(posix, NULL) : hf_glibc()->rwlock_wrlock(posix);
}

static int interposed_tryrdlock(pthread_rwlock_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_tryrdlock(posix);
    struct hf_thread_record *self = hf_self();
    return finish(hf_rw_read_try_acquire(&rwlock_in(posix)->lock, self), self);
}

static int interposed_trywrlock(pthread_rwlock_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_trywrlock(posix);
    struct hf_rwlock *rwlock = rwlock_in(posix);
    struct hf_thread_record *self = hf_self();
    if (!hf_rw_write_try_acquire(&rwlock->lock, self))
        return EBUSY;
    hf_store_relaxed(&rwlock->writer, hf_tid(self));
    return finish(0, self);
}

static int interposed_clockrdlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_clockrdlock(posix, clock, at);
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return read_acquire(posix, &deadline);
}

static int interposed_clockwrlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_clockwrlock(posix, clock, at);
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return write_acquire(posix, &deadline);
}

static int interposed_timedrdlock(pthread_rwlock_t *posix, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_timedrdlock(posix, at);
    struct hf_deadline deadline = {.clock = CLOCK_REALTIME, .at = *at};
    return read_acquire(posix, &deadline);
}

static int interposed_timedwrlock(pthread_rwlock_t *posix, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_timedwrlock(posix, at);
    struct hf_deadline deadline = {.clock = CLOCK_REALTIME, .at = *at};
    return write_acquire(posix, &deadline);
}

static int interposed_unlock(pthread_rwlock_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_unlock(posix);
    struct hf_rwlock *rwlock = rwlock_in(posix);
    struct hf_thread_record *self = hf_self();
    if (hf_rw_is_written(&rwlock->lock)) {
        hf_store_relaxed(&rwlock->writer, 0);
        hf_rw_write_release(&rwlock->lock, self);
    } else {
        hf_rw_read_release(&rwlock->lock, self);
    }
    return 0;
}

HF_EXPORT_TWICE(interposed_rdlock, pthread_rwlock_rdlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_wrlock, pthread_rwlock_wrlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_tryrdlock, pthread_rwlock_tryrdlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_trywrlock, pthread_rwlock_trywrlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_timedrdlock, pthread_rwlock_timedrdlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_timedwrlock, pthread_rwlock_timedwrlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clockrdlock, pthread_rwlock_clockrdlock, "GLIBC_2.30", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clockwrlock, pthread_rwlock_clockwrlock, "GLIBC_2.30", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_unlock, pthread_rwlock_unlock, "GLIBC_2.2.5", "GLIBC_2.34");
