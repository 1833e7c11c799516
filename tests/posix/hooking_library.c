// SPDX-License-Identifier: MIT OR Apache-2.0
// A library that is preloaded besides, and hooks what makes objects, as libfaketime and tracers do: each hook uses
// locks of its own, which are of Holdfast's choice as the program's are.
#include <pthread.h>

#include "first_versions.h"
#include "hook.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int calls;

static void note_call(void) {
    pthread_rwlock_wrlock(&rwlock);
    pthread_mutex_lock(&mutex);
    calls++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&rwlock);
}

HOOK(int, pthread_condattr_init, (pthread_condattr_t * attributes), (attributes))
HOOK(int, pthread_condattr_setclock, (pthread_condattr_t * attributes, clockid_t clock), (attributes, clock))
HOOK(int, pthread_barrierattr_init, (pthread_barrierattr_t * attributes), (attributes))
HOOK(int, pthread_mutex_init, (pthread_mutex_t * made, const pthread_mutexattr_t *with), (made, with))
HOOK(int, pthread_rwlock_init, (pthread_rwlock_t * made, const pthread_rwlockattr_t *with), (made, with))
HOOK(int, pthread_spin_init, (pthread_spinlock_t * made, int shared), (made, shared))
HOOK(int, pthread_barrier_init, (pthread_barrier_t * made, const pthread_barrierattr_t *with, unsigned count),
     (made, with, count))

// dlsym alone may answer with the one of before 2.3.2.
int pthread_cond_init(pthread_cond_t *made, const pthread_condattr_t *with) {
    int (*next)(pthread_cond_t *, const pthread_condattr_t *);
    note_call();
    *(void **)&next = dlvsym(RTLD_NEXT, "pthread_cond_init", FIRST_VERSION_OF_COND);
    return next ? next(made, with) : (abort(), 0);
}
