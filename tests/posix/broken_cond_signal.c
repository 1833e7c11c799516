// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a signal that is lost at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "first_versions.h"

int pthread_cond_signal(pthread_cond_t *cond) {
    static atomic_long calls;
    int (*real)(pthread_cond_t *);
    *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_signal", FIRST_VERSION_OF_COND);
    return atomic_fetch_add(&calls, 1) % 50 == 49 ? 0 : real(cond);
}
