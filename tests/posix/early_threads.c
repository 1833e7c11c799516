// SPDX-License-Identifier: MIT OR Apache-2.0
// A library whose constructor makes threads that lock at once, as numerical libraries' pools and allocators' background
// threads do (early_threads_test.c). So they lock while the interposer's constructor runs, which comes after that of a
// library that the program is linked with.
#include "early_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, MUTEXES = 4, ROUNDS_BEFORE = 8 };

static struct {
    pthread_mutex_t mutex;
    volatile unsigned long inside;
} guarded[MUTEXES] = {{PTHREAD_MUTEX_INITIALIZER, 0},
                      {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, 0},
                      {PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, 0},
                      {PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, 0}};
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned long turn;
static bool turns_end;
static pthread_t threads[THREADS];
static int team; // how many there are
static atomic_bool stop;
static atomic_int at_work;

static void check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "early_threads: %s\n", what);
    _exit(1);
}

static void yield(void) {
    sched_yield();
}

static void work_for_a_while(void) {
    for (volatile int i = 0; i < 2000; i++)
        ;
}

static void use_mutex(int number, void (*work)(void)) {
    check(pthread_mutex_lock(&guarded[number].mutex) == 0, "a mutex was refused");
    unsigned long before = guarded[number].inside;
    guarded[number].inside = before + 1;
    if (work)
        work();
    check(guarded[number].inside == before + 1, "two threads were inside");
    check(pthread_mutex_unlock(&guarded[number].mutex) == 0, "an owner's unlock was refused");
}

static void take_turn(unsigned long number) {
    pthread_mutex_lock(&turns);
    while (turn % THREADS != number && !turns_end)
        pthread_cond_wait(&turn_changed, &turns);
    turn++;
    pthread_cond_broadcast(&turn_changed);
    pthread_mutex_unlock(&turns);
}

static void *use_all(void *number) {
    for (unsigned long round = 0; !stop; round++) {
        for (int i = 0; i < MUTEXES; i++)
            use_mutex(i, (round + (uintptr_t)number) % 8 == 0 ? yield : NULL);
        if (round % 4 == 0)
            take_turn((uintptr_t)number);
        if (round == ROUNDS_BEFORE)
            at_work++;
    }
    pthread_mutex_lock(&turns);
    turns_end = true;
    pthread_cond_broadcast(&turn_changed);
    pthread_mutex_unlock(&turns);
    return NULL;
}

// One mutex, all the time: each thread is mostly inside, or next.
static void *use_one(void *unused) {
    for (unsigned long round = 0; !stop; round++) {
        use_mutex(0, work_for_a_while);
        if (round == 200)
            at_work++;
    }
    return unused;
}

// What a lock leaves in a mutex that is held and free of waiters: its kind and rule, and where a gate is closed.
struct shape {
    int kind;
    bool first_is_used, second_is_used;
};
static struct shape constructors;
static pthread_mutex_t shape_held = PTHREAD_MUTEX_INITIALIZER; // rules know it by that name

static struct shape shape_when_held(void) {
    uint64_t last[2];
    check(pthread_mutex_lock(&shape_held) == 0, "a mutex was refused");
    memcpy(last, &shape_held.__data.__list, sizeof last);
    struct shape shape = {shape_held.__data.__kind, last[0] != 0, last[1] != 0};
    check(pthread_mutex_unlock(&shape_held) == 0, "an owner's unlock was refused");
    return shape;
}

// glibc gives constructors what main gets.
__attribute__((constructor)) static void begin(int count, char **arguments) {
    constructors = shape_when_held();
    bool is_pair = count > 1 && strcmp(arguments[1], "pair") == 0;
    team = is_pair ? 2 : THREADS;
    for (uintptr_t i = 0; i < (uintptr_t)team; i++)
        check(pthread_create(&threads[i], NULL, is_pair ? use_one : use_all, (void *)i) == 0, "no thread");
    while (at_work < team)
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
}

void early_threads_end(void) {
    struct shape mains = shape_when_held();
    check(mains.kind == constructors.kind && mains.first_is_used == constructors.first_is_used &&
              mains.second_is_used == constructors.second_is_used,
          "mutexes are not what they were in the constructor");
    stop = true;
    for (int i = 0; i < team; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MUTEXES; i++)
        use_mutex(i, NULL);
}
