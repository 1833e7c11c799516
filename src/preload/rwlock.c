// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_rwlock_*: POSIX's errors on top of lock/read_write_lock.h, which lives inside glibc's object.
//
//      bytes   glibc calls it                  Holdfast keeps there
//      0..15   __readers ... __writers_futex   the lock
//     24..27   __cur_writer                    the writer's tid, as glibc
//     28..31   __shared                        as glibc; not 0: the lock is glibc's entirely
//     48..51   __flags                         which of readers and writers it prefers, as glibc: readers, unless the
//                                              kind is PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
#include <errno.h>
#include <pthread.h>

#include "lock/read_write_lock.h"
#include "observe/observation.h"
#include "park/deadline.h"
#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

struct hf_rwlock {
    struct hf_rw_lock lock;
    uint64_t unused;
    uint32_t writer;
    uint32_t shared;
    uint64_t unused_too[2];
    uint32_t kind;
};

#define HF_SAME_PLACE(ours, glibcs)                                                                                    \
    _Static_assert(offsetof(struct hf_rwlock, ours) == offsetof(pthread_rwlock_t, __data.glibcs),                      \
                   "as glibc lays it out")
HF_SAME_PLACE(lock, __readers);
HF_SAME_PLACE(writer, __cur_writer);
HF_SAME_PLACE(shared, __shared);
HF_SAME_PLACE(kind, __flags);

static inline struct hf_rwlock *rwlock_in(pthread_rwlock_t *posix) {
    return (struct hf_rwlock *)posix;
}

static bool is_ours_after_all(const pthread_rwlock_t *posix) __attribute__((noinline));

static bool is_ours_after_all(const pthread_rwlock_t *posix) {
    return hf_policy_is_ours(HF_OBJECT_RWLOCK) && posix->__data.__shared == 0;
}

// One look for the usual case: Holdfast's policy, for one process.
static inline bool is_ours(const pthread_rwlock_t *posix) {
    uint32_t unusual = hf_load_relaxed(&hf_policies[HF_OBJECT_RWLOCK]) | posix->__data.__shared;
    return HF_LIKELY(unusual == 0) || is_ours_after_all(posix);
}

static inline bool is_writer(const struct hf_rwlock *rwlock, const struct hf_thread_record *self) {
    // Relaxed: only the caller itself can have stored the caller's tid there.
    return hf_load_relaxed(&rwlock->writer) == hf_tid(self);
}

static __attribute__((noinline, cold)) int note_free(struct hf_rwlock *rwlock, struct hf_thread_record *self) {
    hf_note_free(&rwlock->lock.state, self, HF_STATISTICS_READ_WRITE_LOCK);
    return 0;
}

// Without having waited.
static inline int finish(struct hf_rwlock *rwlock, struct hf_thread_record *self) {
    return HF_UNLIKELY(hf_count_acquisition(self)) ? note_free(rwlock, self) : 0;
}

static int finish_wait(int error, struct hf_thread_record *self) {
    if (!error)
        hf_count_waited_acquisition(self);
    return error;
}

static inline bool prefers_writers(const struct hf_rwlock *rwlock) {
    return rwlock->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

// The caller has begun to read, and is not inside.
static __attribute__((noinline)) int read_after_all(struct hf_rwlock *rwlock, struct hf_thread_record *self,
                                                    uint32_t was, const struct hf_deadline *deadline) {
    int error = hf_rw_is_full(was) ? EAGAIN : is_writer(rwlock, self) ? EDEADLK : 0;
    if (!error && !prefers_writers(rwlock))
        return finish_wait(hf_rw_wait_to_read(&rwlock->lock, self, deadline), self);
    hf_rw_read_release(&rwlock->lock, self);
    return error ? error : finish_wait(hf_rw_wait_behind_writers(&rwlock->lock, self, deadline), self);
}

static inline int read_acquire(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    uint32_t was = hf_rw_read_begin(&rwlock->lock, self);
    return HF_LIKELY(hf_rw_has_begun(was)) ? finish(rwlock, self) : read_after_all(rwlock, self, was, deadline);
}

static inline void become_writer(struct hf_rwlock *rwlock, struct hf_thread_record *self) {
    hf_store_relaxed(&rwlock->writer, hf_tid(self));
}

// The caller could not have it at once.
static __attribute__((noinline)) int write_after_all(struct hf_rwlock *rwlock, struct hf_thread_record *self,
                                                     const struct hf_deadline *deadline) {
    if (is_writer(rwlock, self))
        return EDEADLK;
    int error = prefers_writers(rwlock) ? hf_rw_wait_to_write_first(&rwlock->lock, self, deadline)
                                        : hf_rw_wait_to_write(&rwlock->lock, self, deadline);
    if (!error)
        become_writer(rwlock, self);
    return finish_wait(error, self);
}

static inline int write_acquire(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    if (HF_UNLIKELY(!hf_rw_write_try_acquire(&rwlock->lock, self)))
        return write_after_all(rwlock, self, deadline);
    become_writer(rwlock, self);
    return finish(rwlock, self);
}

static int read_until(struct hf_rwlock *rwlock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return hf_deadline_is_valid(&deadline) ? read_acquire(rwlock, &deadline) : EINVAL;
}

static int write_until(struct hf_rwlock *rwlock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return hf_deadline_is_valid(&deadline) ? write_acquire(rwlock, &deadline) : EINVAL;
}

static int interposed_rdlock(pthread_rwlock_t *posix) {
    return is_ours(posix) ? read_acquire(rwlock_in(posix), NULL) : hf_glibc()->rwlock_rdlock(posix);
}

static int interposed_wrlock(pthread_rwlock_t *posix) {
    return is_ours(posix) ? write_acquire(rwlock_in(posix), NULL) : hf_glibc()->rwlock_wrlock(posix);
}

static int interposed_tryrdlock(pthread_rwlock_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_tryrdlock(posix);
    struct hf_thread_record *self = hf_self();
    int error = hf_rw_read_try_acquire(&rwlock_in(posix)->lock, self);
    return error ? error : finish(rwlock_in(posix), self);
}

static int interposed_trywrlock(pthread_rwlock_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_trywrlock(posix);
    struct hf_rwlock *rwlock = rwlock_in(posix);
    struct hf_thread_record *self = hf_self();
    if (!hf_rw_write_try_acquire(&rwlock->lock, self))
        return EBUSY;
    become_writer(rwlock, self);
    return finish(rwlock, self);
}

static int interposed_clockrdlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_clockrdlock(posix, clock, at);
    return read_until(rwlock_in(posix), clock, at);
}

static int interposed_clockwrlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_clockwrlock(posix, clock, at);
    return write_until(rwlock_in(posix), clock, at);
}

static int interposed_timedrdlock(pthread_rwlock_t *posix, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_timedrdlock(posix, at);
    return read_until(rwlock_in(posix), CLOCK_REALTIME, at);
}

static int interposed_timedwrlock(pthread_rwlock_t *posix, const struct timespec *at) {
    if (!is_ours(posix))
        return hf_glibc()->rwlock_timedwrlock(posix, at);
    return write_until(rwlock_in(posix), CLOCK_REALTIME, at);
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
