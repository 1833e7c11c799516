// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: an unlock that forgets to do it at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    static atomic_long calls;
    int (*real)(pthread_rwlock_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_rwlock_unlock");
    return atomic_fetch_add(&calls, 1) % 2000 == 1999 ? 0 : real(lock);
}
