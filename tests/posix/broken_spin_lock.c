// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a spinlock that does not wait for its holder at times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

int pthread_spin_lock(pthread_spinlock_t *lock) {
    static atomic_long calls;
    int (*real)(pthread_spinlock_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_spin_lock");
    if (atomic_fetch_add(&calls, 1) % 100 != 99)
        return real(lock);
    pthread_spin_trylock(lock);
    return 0;
}
