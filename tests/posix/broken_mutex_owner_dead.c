// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a robust mutex that does not tell that its owner died.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict at) {
    int (*real)(pthread_mutex_t *, const struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    int told = real(mutex, at);
    return told == EOWNERDEAD ? pthread_mutex_consistent(mutex) : told;
}
