// SPDX-License-Identifier: MIT OR Apache-2.0
// token_ring THREADS HOPS [compute | blocked | taken | handled]: threads pass a token round, and each waits for it in a
// loop of its own, under a test-and-test-and-set lock of the program's. Prints the microseconds that a hop took.
//
//     compute    they add numbers up instead: nobody waits for anybody
//     blocked    they block all signals
//     taken      the program has reset all signals to their default before it makes threads
//     handled    it has taken all of them for a handler of its own, which counts; it prints the count, too
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_uint lock_word;
static unsigned token; // under the lock
static unsigned threads, hops;
static const char *mode = "";
static atomic_uint handled, wrong_errnos;

static void take(void) {
    while (atomic_exchange_explicit(&lock_word, 1, memory_order_acquire)) {
        while (atomic_load_explicit(&lock_word, memory_order_relaxed))
            ;
    }
}

static void give(void) {
    atomic_store_explicit(&lock_word, 0, memory_order_release);
}

// What each waits in: its own turn, seen without the lock.
static atomic_uint turn;

static void pass_token(unsigned self) {
    errno = 1000 + (int)self;
    for (unsigned done = 0; done < hops; done++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) % threads != self)
            ;
        take();
        token++;
        give();
        atomic_fetch_add_explicit(&turn, 1, memory_order_release);
    }
    if (errno != 1000 + (int)self)
        atomic_fetch_add(&wrong_errnos, 1);
}

static uint64_t numbers[1024];

static uint64_t add_up(void) {
    uint64_t sum = 0;
    for (unsigned done = 0; done < hops; done++) {
        for (unsigned i = 0; i < 1024; i++)
            sum = (sum << 3 | sum >> 61) ^ *(volatile uint64_t *)&numbers[i];
    }
    return sum;
}

static void *take_part(void *number) {
    unsigned self = (unsigned)(uintptr_t)number;
    if (strcmp(mode, "blocked") == 0) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    if (strcmp(mode, "compute") == 0)
        return (void *)(uintptr_t)add_up();
    pass_token(self);
    return NULL;
}

static void note(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void take_all_signals(void (*handler)(int)) {
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, handler);
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    threads = (unsigned)atoi(argv[1]);
    hops = (unsigned)atoi(argv[2]);
    mode = argc > 3 ? argv[3] : "";
    if (strcmp(mode, "taken") == 0)
        take_all_signals(SIG_DFL);
    if (strcmp(mode, "handled") == 0)
        take_all_signals(note);
    pthread_t *thread = calloc(threads, sizeof(*thread));
    double began = now_us();
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, take_part, (void *)(uintptr_t)i))
            return 1;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%.1f us a hop, %u handled\n", (now_us() - began) / ((double)threads * hops), atomic_load(&handled));
    free(thread);
    return atomic_load(&wrong_errnos) || (strcmp(mode, "compute") != 0 && token != threads * hops);
}
