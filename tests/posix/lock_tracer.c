// SPDX-License-Identifier: MIT OR Apache-2.0
// A library that is preloaded besides, as mutrace is: it counts the program's locks, and calls the next function. At
// the end it says how many there were, and whose they are.
//
// Shown able to fail: `holdfast run` that puts the interposer in front (nothing is counted).
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long mutexes, conditions, rwlocks;
static const char *whose = "nobody";

static void *next_of(const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    Dl_info information;
    if (!next || !dladdr(next, &information))
        abort();
    const char *slash = strrchr(information.dli_fname, '/');
    __atomic_store_n(&whose, slash ? slash + 1 : information.dli_fname, __ATOMIC_RELAXED);
    return next;
}

#define COUNTED(count, name, parameters, arguments)                                                                    \
    int name parameters {                                                                                              \
        static int(*next) parameters;                                                                                  \
        if (!__atomic_load_n(&next, __ATOMIC_RELAXED))                                                                 \
            __atomic_store_n((void **)&next, next_of(#name), __ATOMIC_RELAXED);                                        \
        __atomic_fetch_add(&(count), 1, __ATOMIC_RELAXED);                                                             \
        return next arguments;                                                                                         \
    }
COUNTED(mutexes, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
COUNTED(conditions, pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex))
COUNTED(rwlocks, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
COUNTED(rwlocks, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))

__attribute__((destructor)) static void tell(void) {
    fprintf(stderr, "lock_tracer: mutexes %lu, conditions %lu, rwlocks %lu of %s\n", mutexes, conditions, rwlocks,
            whose);
}
