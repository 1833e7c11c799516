// SPDX-License-Identifier: MIT OR Apache-2.0
// Takes and gives back an object that nobody else wants, COUNT times: ./count counts the instructions of it. With a
// second thread, which does nothing, C libraries take their locks by atomic instructions; then the time of each use is
// printed.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t typed; // made with its type, as by many a program's own wrapper
static mtx_t c11;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void use_mutex(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void use_recursive_mutex(void) {
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
}
static void try_mutex(void) {
    if (pthread_mutex_trylock(&mutex) == 0)
        pthread_mutex_unlock(&mutex);
}
static void use_adaptive_mutex(void) {
    pthread_mutex_lock(&adaptive);
    pthread_mutex_unlock(&adaptive);
}
static void use_typed_mutex(void) {
    pthread_mutex_lock(&typed);
    pthread_mutex_unlock(&typed);
}
static void use_c11_mutex(void) {
    mtx_lock(&c11);
    mtx_unlock(&c11);
}
static void read_rwlock(void) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}
static void write_rwlock(void) {
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}
static void use_spin(void) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
}
static void signal_nobody(void) {
    pthread_cond_signal(&cond);
}

static const struct {
    const char *name;
    void (*use)(void);
} uses[] = {
    {"mutex", use_mutex},
    {"recursive-mutex", use_recursive_mutex},
    {"adaptive-mutex", use_adaptive_mutex},
    {"typed-mutex", use_typed_mutex},
    {"c11-mutex", use_c11_mutex},
    {"mutex-trylock", try_mutex},
    {"rwlock-read", read_rwlock},
    {"rwlock-write", write_rwlock},
    {"spin", use_spin},
    {"cond-signal", signal_nobody},
};

static void make_all(void) {
    pthread_mutexattr_t normal;
    pthread_mutexattr_init(&normal);
    pthread_mutexattr_settype(&normal, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_init(&typed, &normal);
    mtx_init(&c11, mtx_plain);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
}

static void *sleep_for_ever(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    bool beside_a_second_thread = argc == 4 && strcmp(argv[3], "second-thread") == 0;
    pthread_t second;
    make_all();
    if (beside_a_second_thread && pthread_create(&second, NULL, sleep_for_ever, NULL) != 0)
        return 1;
    for (size_t i = 0; (argc == 3 || beside_a_second_thread) && i < sizeof(uses) / sizeof(uses[0]); i++) {
        if (strcmp(argv[1], uses[i].name) != 0)
            continue;
        long count = atol(argv[2]);
        double begin = seconds_now();
        for (long left = count; left > 0; left--)
            uses[i].use();
        if (beside_a_second_thread)
            printf("%s : %.2f ns\n", uses[i].name, 1e9 * (seconds_now() - begin) / (double)count);
        return 0;
    }
    fprintf(stderr, "usage: uncontended-calls OBJECT COUNT [second-thread]\n");
    return 2;
}
