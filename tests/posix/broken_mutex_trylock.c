// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a trylock that says yes to everybody at times.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    static atomic_long calls;
    int (*real)(pthread_mutex_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    int told = real(mutex);
    return told == EBUSY && atomic_fetch_add(&calls, 1) % 100 == 99 ? 0 : told;
}
