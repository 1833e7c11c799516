// SPDX-License-Identifier: MIT OR Apache-2.0
// Compiled with musl-gcc by wait_kinds_test.py: two threads wait for a condition variable, two for each other's mutex.
// Ends when its standard input does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER, held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_for_work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&condition_mutex);
        pthread_cond_wait(&condition, &condition_mutex);
        pthread_mutex_unlock(&condition_mutex);
    }
    return unused;
}

static void *give_work(void *unused) {
    for (;;) {
        usleep(3000);
        pthread_mutex_lock(&condition_mutex);
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&condition_mutex);
    }
    return unused;
}

static void *hold_for_long(void *unused) {
    for (;;) {
        pthread_mutex_lock(&held_mutex);
        usleep(5000);
        pthread_mutex_unlock(&held_mutex);
        usleep(100);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, wait_for_work, NULL);
        pthread_create(&thread, NULL, hold_for_long, NULL);
    }
    pthread_create(&thread, NULL, give_work, NULL);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    _Exit(0);
}
