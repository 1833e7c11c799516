// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that wait for locks and hold them, and measure that themselves: after the seconds that it is told to run it
// prints for each lock its name, for how long all threads together have waited for it, held it, and held it while
// another thread slept for it, in seconds, and stays until it is ended. The last is 0 where the program does not know
// it. Holds are sleeps, so that a busy machine makes them longer and no different.
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TIMES_OF_SHORT_HOLDS = 5000 };

// Statically initialised, hence seen by name. What is timed lies apart from them.
pthread_mutex_t seldom_lock = PTHREAD_MUTEX_INITIALIZER; // one thread holds it for long, others look in often
pthread_mutex_t convoy_lock = PTHREAD_MUTEX_INITIALIZER; // always wanted by several
pthread_mutex_t alone_lock = PTHREAD_MUTEX_INITIALIZER;  // nobody else wants it
pthread_mutex_t mixed_lock = PTHREAD_MUTEX_INITIALIZER;  // thousands of short holds, and a long one
pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER;  // held around the next
pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t vain_lock = PTHREAD_MUTEX_INITIALIZER; // whose waiters give up
pthread_rwlock_t shared_lock = PTHREAD_RWLOCK_INITIALIZER;

enum { SELDOM, CONVOY, ALONE, MIXED, OUTER, INNER, VAIN, SHARED, LOCKS };
static const char *const names[LOCKS] = {"seldom_lock", "convoy_lock", "alone_lock", "mixed_lock",
                                         "outer_lock",  "inner_lock",  "vain_lock",  "shared_lock"};
static pthread_mutex_t *const mutexes[LOCKS] = {&seldom_lock, &convoy_lock, &alone_lock, &mixed_lock,
                                                &outer_lock,  &inner_lock,  &vain_lock,  NULL};

static double waited[LOCKS], held[LOCKS], wanted[LOCKS];
static volatile bool over;
static volatile long waits_for_mixed; // the thread that does, or 0

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void add(double *sum, double seconds) {
    double before, after;
    __atomic_load(sum, &before, __ATOMIC_RELAXED);
    do
        after = before + seconds;
    while (!__atomic_compare_exchange(sum, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void sleep_ms(double milliseconds) {
    struct timespec length = {0, (long)(milliseconds * 1e6)};
    nanosleep(&length, NULL);
}

// Says since when the caller holds it.
static double take(int lock) {
    if (pthread_mutex_trylock(mutexes[lock]) == 0)
        return now();
    double began = now();
    pthread_mutex_lock(mutexes[lock]);
    double since = now();
    add(&waited[lock], since - began);
    return since;
}

static void give_back(int lock, double since) {
    double length = now() - since;
    pthread_mutex_unlock(mutexes[lock]);
    add(&held[lock], length);
}

static void hold(int lock, double milliseconds) {
    double since = take(lock);
    if (milliseconds > 0)
        sleep_ms(milliseconds);
    give_back(lock, since);
}

static void *hold_seldom(void *unused) {
    prctl(PR_SET_NAME, "compactor");
    for (; !over; sleep_ms(10))
        hold(SELDOM, 40);
    return unused;
}

static void *look_in(void *unused) {
    for (; !over; sleep_ms(5))
        hold(SELDOM, 0);
    return unused;
}

static void *travel_in_convoy(void *unused) {
    while (!over)
        hold(CONVOY, 1);
    return unused;
}

static void *be_alone(void *unused) {
    for (; !over; sleep_ms(7))
        hold(ALONE, 3);
    return unused;
}

// In a futex: on a busy machine a waiter may sleep for a set time before, to give its CPU away.
static bool sleeps(long thread) {
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/self/task/%ld/wchan", thread);
    FILE *opened = fopen(path, "r");
    if (!opened)
        abort();
    bool has_line = fgets(line, sizeof(line), opened) != NULL;
    fclose(opened);
    return has_line && strstr(line, "futex");
}

// The long hold begins with the short ones' luck: it may be sampled or not. From when another thread sleeps at the lock
// it is known, and it lasts until that has been so for a while, however late that thread comes.
static void *mix(void *unused) {
    while (!over) {
        for (int i = 0; i < TIMES_OF_SHORT_HOLDS; i++)
            hold(MIXED, 0);
        double since = take(MIXED);
        while (!over && !(waits_for_mixed && sleeps(waits_for_mixed)))
            sleep_ms(0.2);
        double wanted_since = now();
        sleep_ms(20);
        if (!over)
            add(&wanted[MIXED], now() - wanted_since);
        give_back(MIXED, since);
    }
    return unused;
}

static void *want_mixed(void *unused) {
    for (; !over; sleep_ms(1)) {
        waits_for_mixed = 0;
        if (pthread_mutex_trylock(&mixed_lock) != 0) {
            double began = now();
            waits_for_mixed = syscall(SYS_gettid);
            pthread_mutex_lock(&mixed_lock);
            waits_for_mixed = 0;
            add(&waited[MIXED], now() - began);
        }
        pthread_mutex_unlock(&mixed_lock);
    }
    return unused;
}

static void *nest(void *unused) {
    for (; !over; sleep_ms(3)) {
        double since = take(OUTER);
        sleep_ms(1);
        hold(INNER, 2);
        sleep_ms(1);
        give_back(OUTER, since);
    }
    return unused;
}

static void *give_up(void *unused) {
    for (; !over; sleep_ms(2)) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_nsec += 6000000;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
        double began = now();
        if (pthread_mutex_timedlock(&vain_lock, &at) == ETIMEDOUT)
            add(&waited[VAIN], now() - began);
        else
            abort();
    }
    return unused;
}

static void *write_shared(void *unused) {
    for (; !over; sleep_ms(5)) {
        double began = now();
        if (pthread_rwlock_trywrlock(&shared_lock) != 0) {
            pthread_rwlock_wrlock(&shared_lock);
            add(&waited[SHARED], now() - began);
        }
        sleep_ms(10);
        pthread_rwlock_unlock(&shared_lock);
    }
    return unused;
}

static void *read_shared(void *unused) {
    for (; !over; sleep_ms(1)) {
        double began = now();
        if (pthread_rwlock_tryrdlock(&shared_lock) != 0) {
            pthread_rwlock_rdlock(&shared_lock);
            add(&waited[SHARED], now() - began);
        }
        sleep_ms(1);
        pthread_rwlock_unlock(&shared_lock);
    }
    return unused;
}

int main(int argc, char **argv) {
    static void *(*const bodies[])(void *) = {hold_seldom,
                                              look_in,
                                              look_in,
                                              travel_in_convoy,
                                              travel_in_convoy,
                                              travel_in_convoy,
                                              travel_in_convoy,
                                              be_alone,
                                              mix,
                                              want_mixed,
                                              nest,
                                              nest,
                                              give_up,
                                              write_shared,
                                              read_shared,
                                              read_shared};
    enum { THREADS = sizeof(bodies) / sizeof(bodies[0]) };
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    pthread_t threads[THREADS];
    pthread_mutex_lock(&vain_lock);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (double began = now(); now() - began < seconds;)
        sleep_ms(50);
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < LOCKS; i++)
        printf("%s %.6f %.6f %.6f\n", names[i], waited[i], held[i], wanted[i]);
    printf("done\n");
    fflush(stdout);
    for (;;)
        pause();
}
