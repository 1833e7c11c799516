// SPDX-License-Identifier: MIT OR Apache-2.0
// All pthread keys are the program's: as many as there are, from 0 on, in whatever way it asks; and threads lock in
// destructors. Without gtest, which has keys of its own.
//
// Shown able to fail: with a key of Holdfast's that is made at the first lock, 0 is one; without keys.c there is one
// less.
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_key_t keys[PTHREAD_KEYS_MAX];
static atomic_int destroyed;

static void check(int is_so, const char *what) {
    if (is_so)
        return;
    printf("keys: not so: %s\n", what);
    exit(1);
}

static void use_locks(void) {
    struct timespec long_ago = {.tv_sec = 1};
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&cond, &mutex, &long_ago);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

// Locks in some of a thread's destructors, the first among them: under a lock that is first come, first served, each of
// thousands would cost a turn of the other threads.
static void destroy(void *value) {
    static _Thread_local int before;
    if (before++ % 16 == 0)
        use_locks();
    destroyed += value == (void *)&keys;
}

static void *have_values(void *arg) {
    int count = *(int *)arg;
    use_locks();
    for (int i = 0; i < count; i++)
        check(pthread_getspecific(keys[i]) == NULL, "a key has no value in a new thread");
    for (int i = 0; i < count; i++)
        check(pthread_setspecific(keys[i], &keys) == 0, "a key takes a value");
    use_locks();
    for (int i = 0; i < count; i++)
        check(pthread_getspecific(keys[i]) == (void *)&keys, "a key has its value");
    return NULL;
}

static void use_in_threads(int count) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    destroyed = 0;
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, have_values, &count) == 0, "there are threads");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check(destroyed == THREADS * count, "each value is destroyed once");
}

// A variable that nobody has set.
static void use_no_key(void *expected) {
    pthread_key_t never_made = 0;
    check(pthread_getspecific(never_made) == expected, "key 0 has no value");
    check(pthread_setspecific(never_made, &keys) == EINVAL, "key 0 is not made");
    check(pthread_key_delete(never_made) == EINVAL, "key 0 can't be deleted");
}

int main(void) {
    int count = 0;
    use_no_key(NULL);
    use_locks();
    use_no_key(NULL);
    for (; count < 40; count++)
        check(pthread_key_create(&keys[count], destroy) == 0, "there are keys");
    check(keys[0] == 0, "the first key is 0");
    use_in_threads(count);
    for (; count < PTHREAD_KEYS_MAX - 1; count++)
        check(pthread_key_create(&keys[count], destroy) == 0, "there are as many keys as POSIX says");
    tss_t last, one_more;
    check(tss_create(&last, destroy) == thrd_success, "the last key is the program's, too");
    keys[count++] = last;
    check(tss_create(&one_more, destroy) == thrd_error, "there are no more");
    check(pthread_key_create(&one_more, destroy) == EAGAIN, "there are no more");
    use_in_threads(count);
    for (int i = 0; i < count; i++)
        check(pthread_key_delete(keys[i]) == 0, "a key can be deleted");
    count = 0;
    use_in_threads(count);
    return 0;
}
