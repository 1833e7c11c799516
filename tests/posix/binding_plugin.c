// SPDX-License-Identifier: MIT OR Apache-2.0
// A library that binding_test loads: with RTLD_DEEPBIND its calls go to the C library itself.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void binding_plugin_count(pthread_mutex_t *mutex, long *value, int times);
EXPORTED int binding_plugin_wait_for(int *value, pthread_mutex_t *mutex, pthread_cond_t *cond);
EXPORTED void binding_plugin_hold(pthread_rwlock_t *rwlock, pthread_barrier_t *begins, pthread_barrier_t *ends);
EXPORTED int binding_plugin_meet(pthread_barrier_t *barrier, int rounds);
EXPORTED const char *binding_plugin_finds_lock_in(void);

// Until it is not 0; gives up after a minute.
int binding_plugin_wait_for(int *value, pthread_mutex_t *mutex, pthread_cond_t *cond) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    int error = 0;
    pthread_mutex_lock(mutex);
    *value = -1;
    pthread_cond_signal(cond);
    while (*value != 1 && !error)
        error = pthread_cond_timedwait(cond, mutex, &end);
    pthread_mutex_unlock(mutex);
    return error;
}

void binding_plugin_hold(pthread_rwlock_t *rwlock, pthread_barrier_t *begins, pthread_barrier_t *ends) {
    pthread_rwlock_wrlock(rwlock);
    pthread_barrier_wait(begins);
    pthread_barrier_wait(ends);
    pthread_rwlock_unlock(rwlock);
}

// Returns in how many of so many rounds it was the one to which the barrier tells that.
int binding_plugin_meet(pthread_barrier_t *barrier, int rounds) {
    int told = 0;
    for (int round = 0; round < rounds; round++)
        told += pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    return told;
}

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
