// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_rwlock_*: POSIX's errors on top of lock/posix/read_write_lock.h, which lives inside glibc's object
// (rwlock_layout.h), or of RW-SCL (sliced_rwlock.h).
#include <errno.h>
#include <pthread.h>

#include "lock/posix/read_write_lock.h"
#include "observe/observation.h"
#include "park/deadline.h"
#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/rwlock_choice.h"
#include "preload/rwlock_layout.h"
#include "preload/sliced_rwlock.h"
#include "preload/symbol_version.h"

// Whose functions a lock is used by. The same for its whole life.
enum keeper { KEEPER_OURS, KEEPER_SLICES, KEEPER_GLIBC };

static enum keeper keeper_after_all(pthread_rwlock_t *posix) __attribute__((noinline));

static enum keeper keeper_after_all(pthread_rwlock_t *posix) {
    if (posix->__data.__shared != 0)
        return KEEPER_GLIBC;
    struct hf_rwlock *rwlock = hf_rwlock_in(posix);
    const struct hf_rwlock_choice *choice = hf_rwlock_choice_of(rwlock);
    switch (hf_load_relaxed(&choice->policy)) {
    case HF_POLICY_GLIBCS: return KEEPER_GLIBC;
    case HF_POLICY_SLICED: return hf_rwlock_is_sliced(rwlock, &choice->options) ? KEEPER_SLICES : KEEPER_OURS;
    default: return KEEPER_OURS;
    }
}

// A lock of 56 bytes mostly lies in two lines, the second of which it shares with what the program keeps behind it. A
// load asks for that one now: behind the locked instruction it would begin only when the first line has come. glibc
// looks at the kind and so asks for it, too. A prefetch instruction gains half as much.
static inline void ask_for_second_line(const pthread_rwlock_t *posix) {
    uint32_t kind = posix->__data.__flags;
    __asm__ volatile("" : : "r"(kind));
}

// One look for the usual case: Holdfast's policy for all, for one process.
static inline enum keeper keeper_of(pthread_rwlock_t *posix) {
    ask_for_second_line(posix);
    uint32_t unusual = hf_load_relaxed(&hf_policies[HF_OBJECT_RWLOCK]) | posix->__data.__shared;
    return HF_LIKELY(unusual == 0) ? KEEPER_OURS : keeper_after_all(posix);
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

// The caller has begun to read, and is not inside.
static __attribute__((noinline)) int read_after_all(struct hf_rwlock *rwlock, struct hf_thread_record *self,
                                                    uint32_t was, const struct hf_deadline *deadline) {
    int error = hf_rw_is_full(was) ? EAGAIN : hf_rwlock_is_writer(rwlock, self) ? EDEADLK : 0;
    if (!error && !hf_rwlock_prefers_writers(rwlock))
        return finish_wait(hf_rw_wait_to_read(&rwlock->lock, self, deadline), self);
    hf_rw_read_release(&rwlock->lock, self);
    return error ? error : finish_wait(hf_rw_wait_behind_writers(&rwlock->lock, self, deadline), self);
}

static inline int read_acquire(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    uint32_t was = hf_rw_read_begin(&rwlock->lock, self);
    return HF_LIKELY(hf_rw_has_begun(was)) ? finish(rwlock, self) : read_after_all(rwlock, self, was, deadline);
}

// The caller could not have it at once.
static __attribute__((noinline)) int write_after_all(struct hf_rwlock *rwlock, struct hf_thread_record *self,
                                                     const struct hf_deadline *deadline) {
    if (hf_rwlock_is_writer(rwlock, self))
        return EDEADLK;
    int error = hf_rwlock_prefers_writers(rwlock) ? hf_rw_wait_to_write_first(&rwlock->lock, self, deadline)
                                                  : hf_rw_wait_to_write(&rwlock->lock, self, deadline);
    if (!error)
        hf_rwlock_become_writer(rwlock, self);
    return finish_wait(error, self);
}

static inline int write_acquire(struct hf_rwlock *rwlock, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    if (HF_UNLIKELY(!hf_rw_write_try_acquire(&rwlock->lock, self)))
        return write_after_all(rwlock, self, deadline);
    hf_rwlock_become_writer(rwlock, self);
    return finish(rwlock, self);
}

static int read_by(enum keeper keeper, struct hf_rwlock *rwlock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (!hf_deadline_is_valid(&deadline))
        return EINVAL;
    return keeper == KEEPER_OURS ? read_acquire(rwlock, &deadline) : hf_sliced_read(rwlock, &deadline);
}

static int write_by(enum keeper keeper, struct hf_rwlock *rwlock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (!hf_deadline_is_valid(&deadline))
        return EINVAL;
    return keeper == KEEPER_OURS ? write_acquire(rwlock, &deadline) : hf_sliced_write(rwlock, &deadline);
}

static int interposed_rdlock(pthread_rwlock_t *posix) {
    switch (keeper_of(posix)) {
    case KEEPER_OURS: return read_acquire(hf_rwlock_in(posix), NULL);
    case KEEPER_SLICES: return hf_sliced_read(hf_rwlock_in(posix), NULL);
    default: return hf_glibc()->rwlock_rdlock(posix);
    }
}

static int interposed_wrlock(pthread_rwlock_t *posix) {
    switch (keeper_of(posix)) {
    case KEEPER_OURS: return write_acquire(hf_rwlock_in(posix), NULL);
    case KEEPER_SLICES: return hf_sliced_write(hf_rwlock_in(posix), NULL);
    default: return hf_glibc()->rwlock_wrlock(posix);
    }
}

static int try_read(struct hf_rwlock *rwlock) {
    struct hf_thread_record *self = hf_self();
    int error = hf_rw_read_try_acquire(&rwlock->lock, self);
    return error ? error : finish(rwlock, self);
}

static int interposed_tryrdlock(pthread_rwlock_t *posix) {
    switch (keeper_of(posix)) {
    case KEEPER_OURS: return try_read(hf_rwlock_in(posix));
    case KEEPER_SLICES: return hf_sliced_try_read(hf_rwlock_in(posix));
    default: return hf_glibc()->rwlock_tryrdlock(posix);
    }
}

static int try_write(struct hf_rwlock *rwlock) {
    struct hf_thread_record *self = hf_self();
    if (!hf_rw_write_try_acquire(&rwlock->lock, self))
        return EBUSY;
    hf_rwlock_become_writer(rwlock, self);
    return finish(rwlock, self);
}

static int interposed_trywrlock(pthread_rwlock_t *posix) {
    switch (keeper_of(posix)) {
    case KEEPER_OURS: return try_write(hf_rwlock_in(posix));
    case KEEPER_SLICES: return hf_sliced_try_write(hf_rwlock_in(posix));
    default: return hf_glibc()->rwlock_trywrlock(posix);
    }
}

static int interposed_clockrdlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    enum keeper keeper = keeper_of(posix);
    return keeper == KEEPER_GLIBC ? hf_glibc()->rwlock_clockrdlock(posix, clock, at)
                                  : read_by(keeper, hf_rwlock_in(posix), clock, at);
}

static int interposed_clockwrlock(pthread_rwlock_t *posix, clockid_t clock, const struct timespec *at) {
    enum keeper keeper = keeper_of(posix);
    return keeper == KEEPER_GLIBC ? hf_glibc()->rwlock_clockwrlock(posix, clock, at)
                                  : write_by(keeper, hf_rwlock_in(posix), clock, at);
}

static int interposed_timedrdlock(pthread_rwlock_t *posix, const struct timespec *at) {
    enum keeper keeper = keeper_of(posix);
    return keeper == KEEPER_GLIBC ? hf_glibc()->rwlock_timedrdlock(posix, at)
                                  : read_by(keeper, hf_rwlock_in(posix), CLOCK_REALTIME, at);
}

static int interposed_timedwrlock(pthread_rwlock_t *posix, const struct timespec *at) {
    enum keeper keeper = keeper_of(posix);
    return keeper == KEEPER_GLIBC ? hf_glibc()->rwlock_timedwrlock(posix, at)
                                  : write_by(keeper, hf_rwlock_in(posix), CLOCK_REALTIME, at);
}

static void release(struct hf_rwlock *rwlock) {
    struct hf_thread_record *self = hf_self();
    if (hf_rw_is_written(&rwlock->lock)) {
        hf_store_relaxed(&rwlock->writer, 0);
        hf_rw_write_release(&rwlock->lock, self);
    } else {
        hf_rw_read_release(&rwlock->lock, self);
    }
}

static int interposed_unlock(pthread_rwlock_t *posix) {
    switch (keeper_of(posix)) {
    case KEEPER_OURS: release(hf_rwlock_in(posix)); return 0;
    case KEEPER_SLICES: hf_sliced_unlock(hf_rwlock_in(posix)); return 0;
    default: return hf_glibc()->rwlock_unlock(posix);
    }
}

static int interposed_destroy(pthread_rwlock_t *posix) {
    // Not keeper_of: that would make what was never used. What is not sliced has nothing to be forgotten.
    enum hf_policy policy = hf_policy_of(HF_OBJECT_RWLOCK);
    if ((policy == HF_POLICY_SLICED || policy == HF_POLICY_BY_RULES) && posix->__data.__shared == 0)
        hf_sliced_forget(hf_rwlock_in(posix));
    return hf_glibc()->rwlock_destroy(posix);
}

HF_EXPORT_TWICE(interposed_destroy, pthread_rwlock_destroy, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_rdlock, pthread_rwlock_rdlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_wrlock, pthread_rwlock_wrlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_tryrdlock, pthread_rwlock_tryrdlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_trywrlock, pthread_rwlock_trywrlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_timedrdlock, pthread_rwlock_timedrdlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_timedwrlock, pthread_rwlock_timedwrlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clockrdlock, pthread_rwlock_clockrdlock, "GLIBC_2.30", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clockwrlock, pthread_rwlock_clockwrlock, "GLIBC_2.30", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_unlock, pthread_rwlock_unlock, HF_GLIBC_FIRST, "GLIBC_2.34");
// Their other names, of which glibc's headers say nothing; old programs have them.
HF_EXPORT(interposed_destroy, __pthread_rwlock_destroy, HF_GLIBC_FIRST);
HF_EXPORT(interposed_rdlock, __pthread_rwlock_rdlock, HF_GLIBC_FIRST);
HF_EXPORT(interposed_wrlock, __pthread_rwlock_wrlock, HF_GLIBC_FIRST);
HF_EXPORT(interposed_tryrdlock, __pthread_rwlock_tryrdlock, HF_GLIBC_FIRST);
HF_EXPORT(interposed_trywrlock, __pthread_rwlock_trywrlock, HF_GLIBC_FIRST);
HF_EXPORT(interposed_unlock, __pthread_rwlock_unlock, HF_GLIBC_FIRST);
