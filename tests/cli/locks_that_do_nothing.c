// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for programs that check their own result: locks that let everybody in. Waits end at once, as if
// woken for nothing, and now and then the CPU is given away, so that threads meet on one CPU too.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static int nothing(void) {
    static _Thread_local unsigned calls;
    if (++calls % 16 == 0)
        sched_yield();
    return 0;
}

static int yield(void) {
    sched_yield();
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    (void)mutex;
    return nothing();
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    (void)mutex;
    return nothing();
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    (void)mutex;
    return nothing();
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    (void)lock;
    return nothing();
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    (void)lock;
    return nothing();
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    (void)lock;
    return nothing();
}

int pthread_spin_lock(pthread_spinlock_t *lock) {
    (void)lock;
    return nothing();
}

int pthread_spin_unlock(pthread_spinlock_t *lock) {
    (void)lock;
    return nothing();
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    (void)condition;
    (void)mutex;
    return yield();
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
    (void)condition;
    (void)mutex;
    (void)deadline;
    return yield();
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *deadline) {
    (void)clock;
    return pthread_cond_timedwait(condition, mutex, deadline);
}

int pthread_cond_signal(pthread_cond_t *condition) {
    (void)condition;
    return yield();
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    (void)condition;
    return yield();
}

int pthread_barrier_wait(pthread_barrier_t *barrier) {
    (void)barrier;
    return yield();
}
