// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a signal that is lost at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_cond_signal(pthread_cond_t *cond) {
    static atomic_long calls;
    int (*real)(pthread_cond_t *);
    *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
    return atomic_fetch_add(&calls, 1) % 50 == 49 ? 0 : real(cond);
}
