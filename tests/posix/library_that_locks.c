// SPDX-License-Identifier: MIT OR Apache-2.0
// For life_test to load and unload: locks in its constructor and in its destructor, and in a function in between.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long constructed;
static long *destroyed_count;

static int use(void) {
    if (pthread_mutex_lock(&mutex) || pthread_rwlock_wrlock(&rwlock))
        return -1;
    pthread_cond_broadcast(&cond);
    constructed++;
    return pthread_rwlock_unlock(&rwlock) | pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void load(void) {
    use();
}

__attribute__((destructor)) static void unload(void) {
    if (use() == 0 && destroyed_count)
        __atomic_fetch_add(destroyed_count, 1, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) long lock_and_count_unloads_in(long *count);
long lock_and_count_unloads_in(long *count) {
    destroyed_count = count;
    use();
    return constructed;
}
