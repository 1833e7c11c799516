// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that builds a sandbox and then does what Holdfast would ask the kernel for, were it not for the sandbox
// (preload/sandbox.c). Its filter kills for what glibc's locks do without; every_object.c has the calls that come by
// themselves, and these are the others.
//
// usage: forgone_calls threads|locks|realtime
//   threads   more than 4,096 with a record: getpid and tgkill, to find out which are gone
//   locks     more than 64 that are waited for: mremap, where statistics are kept
//   realtime  a wait where real-time threads are expected: sched_getattr
//
// Ends with 0, or 1 and one sentence on what went wrong. Killed by the filter, or by an alarm when it hangs.
// Shown able to fail: without the call in do_without() that each is for (hf_thread_records_stay_left,
// hf_statistics_stay_mapped, hf_realtime_ask_no_more) it ends by SIGSYS.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox_filter.h"

enum { THREADS = 4096 + 64, LOCKS = 200 };

static const int forgone[] = {SYS_membarrier, SYS_getpid,        SYS_tgkill,
                              SYS_mremap,     SYS_sched_getattr, SYS_sched_getaffinity};

static void check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "forgone_calls: %s\n", what);
    _exit(1);
}

static void enter_sandbox_without_the_forgone(void) {
    check(enter_sandbox_without(forgone, sizeof(forgone) / sizeof(forgone[0])), "the kernel refuses the filter");
}

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static void *lock_and_stay(void *nothing) {
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    pthread_barrier_wait(&all);
    return nothing;
}

static void have_many_threads(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_barrier_init(&all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], &small, lock_and_stay, NULL) == 0, "no thread");
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static bool is_asleep(pid_t thread) {
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    const char *end = length ? strrchr(text, ')') : NULL;
    return end && end[1] && end[2] == 'S';
}

static atomic_int waiter;

static void *wait_for(void *mutex) {
    waiter = (int)syscall(SYS_gettid);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

// One thread holds each in turn, until another sleeps for it.
static void have_locks_waited_for(int count) {
    static pthread_mutex_t mutexes[LOCKS];
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        pthread_mutex_init(&mutexes[i], NULL);
        pthread_mutex_lock(&mutexes[i]);
        waiter = 0;
        check(pthread_create(&thread, NULL, wait_for, &mutexes[i]) == 0, "no thread");
        while (waiter == 0 || !is_asleep(waiter))
            usleep(100);
        pthread_mutex_unlock(&mutexes[i]);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv) {
    const char *what = argc == 2 ? argv[1] : "";
    alarm(600);
    if (strcmp(what, "threads") == 0) {
        enter_sandbox_without_the_forgone();
        have_many_threads();
    } else if (strcmp(what, "locks") == 0) {
        enter_sandbox_without_the_forgone();
        have_locks_waited_for(LOCKS);
    } else if (strcmp(what, "realtime") == 0) {
        struct rlimit long_enough = {600 * 1000 * 1000, 600 * 1000 * 1000};
        check(syscall(SYS_prlimit64, 0, RLIMIT_RTTIME, &long_enough, NULL) == 0, "the kernel refuses the limit");
        have_locks_waited_for(1);
        enter_sandbox_without_the_forgone();
        have_locks_waited_for(2);
    } else {
        check(false, "usage: forgone_calls threads|locks|realtime");
    }
    return 0;
}
