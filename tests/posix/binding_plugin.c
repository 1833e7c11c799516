// SPDX-License-Identifier: MIT OR Apache-2.0
// A library that binding_test loads: with RTLD_DEEPBIND its calls go to the C library itself.
#include <dlfcn.h>
#include <pthread.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void binding_plugin_count(pthread_mutex_t *mutex, long *value, int times);
EXPORTED const char *binding_plugin_finds_lock_in(void);

void binding_plugin_count(pthread_mutex_t *mutex, long *value, int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(mutex);
        ++*value;
        pthread_mutex_unlock(mutex);
    }
}

const char *binding_plugin_finds_lock_in(void) {
    Dl_info where;
    return dladdr((void *)(unsigned long)&pthread_mutex_lock, &where) ? where.dli_fname : "nowhere";
}
