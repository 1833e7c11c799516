// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a barrier that lets a thread through at once at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_barrier_wait(pthread_barrier_t *barrier) {
    static atomic_long calls;
    int (*real)(pthread_barrier_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_barrier_wait");
    return atomic_fetch_add(&calls, 1) % 100 == 99 ? 0 : real(barrier);
}
