// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_mutex_*: POSIX's types and errors on top of a lock that lives inside the mutex (mutex_layout.h).
#include <errno.h>

#include "lock/flexguard_lock.h"
#include "park/deadline.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex.h"
#include "preload/mutex_layout.h"
#include "preload/symbol_version.h"

// What a call finds out before it touches the word.
enum verdict {
    VERDICT_ACQUIRE, // go for the word
    VERDICT_DONE,    // one more level of a recursive mutex
    VERDICT_FULL,    // and there can be no more levels: EAGAIN
    VERDICT_OWN,     // an errorcheck mutex that the caller holds
};

static inline bool is_ours(const struct hf_mutex *mutex) {
    return !hf_lock_choice.passed_on && hf_mutex_is_ours(mutex);
}

static inline bool is_owner(const struct hf_mutex *mutex, struct hf_thread_record *self) {
    // Relaxed: only the caller itself can have stored the caller's tid there.
    return hf_load_relaxed(&mutex->owner) == hf_tid(self);
}

static enum verdict judge(struct hf_mutex *mutex, struct hf_thread_record *self) {
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    if (type == HF_MUTEX_RECURSIVE && is_owner(mutex, self)) {
        if (mutex->count + 1 == 0)
            return VERDICT_FULL;
        mutex->count++;
        return VERDICT_DONE;
    }
    return type == HF_MUTEX_ERRORCHECK && is_owner(mutex, self) ? VERDICT_OWN : VERDICT_ACQUIRE;
}

static inline void become_owner(struct hf_mutex *mutex, struct hf_thread_record *self) {
    HF_CHECK("I1", mutex->owner == 0);
    hf_store_relaxed(&mutex->owner, hf_tid(self));
    mutex->nusers++;
}

static inline int acquire(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (HF_LIKELY(hf_lock_choice.discipline == HF_DISCIPLINE_FLEXGUARD))
        return hf_flexguard_acquire(&mutex->word, &mutex->queue_tail, self, deadline);
    return hf_chosen_acquire(mutex, self, deadline);
}

static inline bool try_acquire(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (HF_LIKELY(hf_lock_choice.discipline == HF_DISCIPLINE_FLEXGUARD))
        return hf_flexguard_try_acquire(&mutex->word, self);
    return hf_chosen_try_acquire(mutex, self);
}

static inline void release(struct hf_mutex *mutex, struct hf_thread_record *self) {
    hf_store_relaxed(&mutex->owner, 0);
    mutex->nusers--;
    if (HF_LIKELY(hf_lock_choice.discipline == HF_DISCIPLINE_FLEXGUARD))
        hf_flexguard_release(&mutex->word, self);
    else
        hf_chosen_release(mutex);
}

// Any type, with or without a deadline; the paths that are taken often are written out in the functions below.
static __attribute__((noinline)) int lock_typed(struct hf_mutex *mutex, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    switch (judge(mutex, self)) {
    case VERDICT_DONE: return 0;
    case VERDICT_FULL: return EAGAIN;
    case VERDICT_OWN: return EDEADLK;
    case VERDICT_ACQUIRE: break;
    }
    if (!deadline || hf_deadline_is_valid(deadline)) {
        if (acquire(mutex, self, deadline))
            return ETIMEDOUT;
    } else if (!try_acquire(mutex, self)) {
        return EINVAL; // an impossible deadline matters only to who would have to wait
    }
    become_owner(mutex, self);
    mutex->count = hf_mutex_type_of(mutex) == HF_MUTEX_RECURSIVE;
    return 0;
}

int hf_mutex_lock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (HF_UNLIKELY((mutex->kind | hf_lock_choice.passed_on) != HF_MUTEX_NORMAL))
        return is_ours(mutex) ? lock_typed(mutex, NULL) : hf_glibc()->mutex_lock(posix);
    struct hf_thread_record *self = hf_self();
    acquire(mutex, self, NULL);
    become_owner(mutex, self);
    return 0;
}

static int interposed_trylock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!is_ours(mutex))
        return hf_glibc()->mutex_trylock(posix);
    struct hf_thread_record *self = hf_self();
    switch (judge(mutex, self)) {
    case VERDICT_DONE: return 0;
    case VERDICT_FULL: return EAGAIN;
    case VERDICT_OWN: return EBUSY;
    case VERDICT_ACQUIRE: break;
    }
    if (!try_acquire(mutex, self))
        return EBUSY;
    become_owner(mutex, self);
    if (hf_mutex_type_of(mutex) == HF_MUTEX_RECURSIVE)
        mutex->count = 1;
    return 0;
}

static int interposed_timedlock(pthread_mutex_t *posix, const struct timespec *at) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!is_ours(mutex))
        return hf_glibc()->mutex_timedlock(posix, at);
    struct hf_deadline deadline = {.clock = CLOCK_REALTIME, .at = *at};
    return lock_typed(mutex, &deadline);
}

static int interposed_clocklock(pthread_mutex_t *posix, clockid_t clock, const struct timespec *at) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!is_ours(mutex))
        return hf_glibc()->mutex_clocklock(posix, clock, at);
    // Unlike a bad time, a bad clock is refused at once.
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return lock_typed(mutex, &deadline);
}

static __attribute__((noinline)) int unlock_typed(struct hf_mutex *mutex) {
    struct hf_thread_record *self = hf_self();
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    if ((type == HF_MUTEX_RECURSIVE || type == HF_MUTEX_ERRORCHECK) && !is_owner(mutex, self))
        return EPERM;
    if (type == HF_MUTEX_RECURSIVE && --mutex->count != 0)
        return 0;
    release(mutex, self);
    return 0;
}

int hf_mutex_unlock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (HF_UNLIKELY((mutex->kind | hf_lock_choice.passed_on) != HF_MUTEX_NORMAL))
        return is_ours(mutex) ? unlock_typed(mutex) : hf_glibc()->mutex_unlock(posix);
    release(mutex, hf_self());
    return 0;
}

HF_EXPORT(hf_mutex_lock, pthread_mutex_lock, "GLIBC_2.2.5");
HF_EXPORT(hf_mutex_unlock, pthread_mutex_unlock, "GLIBC_2.2.5");
HF_EXPORT_TWICE(interposed_trylock, pthread_mutex_trylock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_timedlock, pthread_mutex_timedlock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clocklock, pthread_mutex_clocklock, "GLIBC_2.30", "GLIBC_2.34");
