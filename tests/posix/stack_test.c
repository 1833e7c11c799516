// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads with the smallest stack that there is are the first to use each kind of object, one process a kind: they come
// to meet, wait, time out, and lock in destructors.
//
// Shown able to fail: with 8 KiB of buffers in base/numa.c the first use of a reader-writer lock under RW-SCL ends in
// SIGSEGV.
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_key_t key;

static struct timespec soon(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 1000 * 1000;
    if (at.tv_nsec >= 1000 * 1000 * 1000) {
        at.tv_nsec -= 1000 * 1000 * 1000;
        at.tv_sec++;
    }
    return at;
}

static void stay_a_while(int round) {
    if (round % 10 == 0)
        usleep(100);
}

static void use_mutex(int round) {
    struct timespec at = soon();
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    if (round % 2 == 0 ? pthread_mutex_lock(&mutex) : pthread_mutex_timedlock(&mutex, &at))
        return;
    stay_a_while(round);
    pthread_mutex_unlock(&mutex);
}

static void use_cond(int round) {
    struct timespec at = soon();
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&cond);
    pthread_cond_timedwait(&cond, &mutex, &at);
    stay_a_while(round);
    pthread_mutex_unlock(&mutex);
}

static void use_rwlock(int round) {
    struct timespec at = soon();
    int refused = round % 3 == 0   ? pthread_rwlock_wrlock(&rwlock)
                  : round % 3 == 1 ? pthread_rwlock_rdlock(&rwlock)
                                   : pthread_rwlock_timedwrlock(&rwlock, &at);
    if (refused)
        return;
    stay_a_while(round);
    pthread_rwlock_unlock(&rwlock);
}

static void use_spin(int round) {
    pthread_spin_lock(&spin);
    stay_a_while(round);
    pthread_spin_unlock(&spin);
}

static void use_barrier(int round) {
    (void)round;
    pthread_barrier_wait(&barrier);
}

static const struct {
    const char *name;
    void (*use)(int round);
} kinds[] = {
    {"mutex", use_mutex},   {"condition variable", use_cond}, {"reader-writer lock", use_rwlock},
    {"spinlock", use_spin}, {"barrier", use_barrier},
};

static void use_in_destructor(void *kind) {
    if (kinds[(uintptr_t)kind - 1].use != use_barrier)
        kinds[(uintptr_t)kind - 1].use(0);
}

static void *use_often(void *kind) {
    pthread_setspecific(key, kind);
    for (int round = 0; round < ROUNDS; round++)
        kinds[(uintptr_t)kind - 1].use(round);
    return NULL;
}

static void check(int is_so, const char *what) {
    if (!is_so) {
        printf("stack: %s\n", what);
        exit(1);
    }
}

static void use_in_small_threads(uintptr_t kind) {
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_key_create(&key, use_in_destructor);
    pthread_attr_init(&attributes);
    check(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0, "no such stack");
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], &attributes, use_often, (void *)kind) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void) {
    int failed = 0;
    for (uintptr_t kind = 1; kind <= sizeof(kinds) / sizeof(kinds[0]); kind++) {
        int status = 0;
        pid_t child = fork();
        check(child >= 0, "no process");
        if (child == 0) {
            use_in_small_threads(kind);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status == 0)
            continue;
        printf("stack: a %s on a small stack ends with status %#x\n", kinds[kind - 1].name, (unsigned)status);
        failed = 1;
    }
    return failed;
}
