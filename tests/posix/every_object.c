// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that uses every kind of POSIX lock under contention, and nothing else: to be run in sandboxes, beside other
// preloads, and with functions of its own by the names of libc's (CMakeLists.txt). No call of it has a deadline.
//
// usage: every_object [--sandbox kill|refuse|kill-membarrier [--exec]]
//   kill     a seccomp filter that kills for each call which is neither glibc's for this program nor in
//            docs/sandboxes.md
//   refuse   one that answers EPERM, also to what Holdfast alone asks for
//   kill-membarrier
//            one that kills for that call alone, which glibc's locks never make: of all threads, while some lock
//   --exec   executes itself inside the filter, which must allow what a program's start needs, too
//
// Ends with 0, or 1 and one sentence on what went wrong. Killed by an alarm when it hangs.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox_filter.h"

enum { THREADS = 6, ROUNDS = 200, WAITS = 50 };

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER,
                        writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static atomic_int begun;
static atomic_bool has_entered;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "every_object: %s\n", what);
    _exit(1);
}

static void check(bool holds, const char *what) {
    if (!holds)
        fail(what);
}

// What one thread at a time may do. The second half sees what the first did, or another thread was inside.
static void be_inside(volatile unsigned long *inside, bool yields) {
    unsigned long before = *inside;
    *inside = before + 1;
    if (yields)
        sched_yield();
    check(*inside == before + 1, "two threads were inside");
}

static void *use_mutexes(void *number) {
    static volatile unsigned long inside[4];
    pthread_mutex_t *mutexes[] = {&normal, &recursive, &errorcheck, &adaptive};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) {
            check(pthread_mutex_lock(mutexes[i]) == 0, "a mutex was refused");
            if (mutexes[i] == &recursive)
                check(pthread_mutex_trylock(&recursive) == 0, "its owner's second lock of a recursive one was refused");
            be_inside(&inside[i], round % 32 == (intptr_t)number);
            if (mutexes[i] == &recursive)
                check(pthread_mutex_unlock(&recursive) == 0, "a second unlock was refused");
            check(pthread_mutex_unlock(mutexes[i]) == 0, "an owner's unlock was refused");
        }
    }
    return NULL;
}

static void *use_rwlocks(void *number) {
    static volatile unsigned long inside[2];
    pthread_rwlock_t *rwlocks[] = {&readers, &writers};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            if ((round + (intptr_t)number) % 4 == 0) {
                check(pthread_rwlock_wrlock(rwlocks[i]) == 0, "a writer was refused");
                be_inside(&inside[i], round % 64 == 0);
            } else {
                check(pthread_rwlock_rdlock(rwlocks[i]) == 0, "a reader was refused");
                unsigned long seen = inside[i];
                if (round % 64 == 1)
                    sched_yield();
                check(inside[i] == seen, "a writer came beside a reader");
            }
            check(pthread_rwlock_unlock(rwlocks[i]) == 0, "an unlock was refused");
        }
    }
    return NULL;
}

static void *take_turns(void *number) {
    static long turn;
    for (int wait = 0; wait < WAITS; wait++) {
        pthread_mutex_lock(&guard);
        while (turn % THREADS != (intptr_t)number)
            check(pthread_cond_wait(&turn_changed, &guard) == 0, "a wait was refused");
        turn++;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void *use_the_rest(void *number) {
    static volatile unsigned long inside;
    for (int round = 0; round < WAITS; round++) {
        pthread_spin_lock(&spin);
        be_inside(&inside, false);
        pthread_spin_unlock(&spin);
        int result = pthread_barrier_wait(&barrier);
        check(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, "a barrier refused");
    }
    return number;
}

static void run(void *(*function)(void *)) {
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, function, (void *)i) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void *use_while_another_enters(void *number) {
    atomic_fetch_add(&begun, 1);
    while (!has_entered) {
        use_mutexes(number);
        use_rwlocks(number);
    }
    return NULL;
}

// Unlocks without an atomic instruction have been found out to pay by then, so that sleepers need the call.
static void enter_while_others_lock(void) {
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, use_while_another_enters, (void *)i) == 0, "no thread");
    while (begun < THREADS)
        sched_yield();
    check(enter_sandbox_without((const int[]){SYS_membarrier}, 1), "the kernel refuses the filter");
    has_entered = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    alarm(600);
    if (argc == 3 && strcmp(argv[1], "--sandbox") == 0 && strcmp(argv[2], "kill-membarrier") == 0) {
        enter_while_others_lock();
    } else if (argc > 2 && strcmp(argv[1], "--sandbox") == 0) {
        bool kills = strcmp(argv[2], "kill") == 0, executes = argc > 3;
        check(enter_sandbox(kills, executes), "the kernel refuses the filter");
        if (executes)
            execv(argv[0], (char *[]){argv[0], NULL});
        check(!executes, "not executed");
    }
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, THREADS);
    run(use_mutexes);
    run(use_rwlocks);
    run(take_turns);
    run(use_the_rest);
    return 0;
}
