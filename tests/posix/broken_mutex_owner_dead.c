// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a robust mutex that does not tell that its owner died.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    int (*real)(pthread_mutex_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    int told = real(mutex);
    return told == EOWNERDEAD ? pthread_mutex_consistent(mutex) : told;
}
