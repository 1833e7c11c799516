// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: an unlock that forgets to do it at times. Not of a mutex with priority
// inheritance: when its owner ends the kernel marks it, and an assertion of glibc's ends the next one that locks it,
// before the soak can say what is wrong.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

enum { WITH_PRIORITY_INHERITANCE = 32 }; // in __kind

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static atomic_long calls;
    int (*real)(pthread_mutex_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    if (mutex->__data.__kind & WITH_PRIORITY_INHERITANCE)
        return real(mutex);
    return atomic_fetch_add(&calls, 1) % 20000 == 19999 ? 0 : real(mutex);
}
