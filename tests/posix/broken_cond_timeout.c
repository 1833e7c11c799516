// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a wait whose time is over comes back without the mutex.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "first_versions.h"

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", FIRST_VERSION_OF_COND);
    int told = real(cond, mutex, at);
    if (told == ETIMEDOUT)
        pthread_mutex_unlock(mutex);
    return told;
}
