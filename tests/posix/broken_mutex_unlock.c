// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: an unlock that forgets to do it at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static atomic_long calls;
    int (*real)(pthread_mutex_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    return atomic_fetch_add(&calls, 1) % 20000 == 19999 ? 0 : real(mutex);
}
