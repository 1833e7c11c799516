// SPDX-License-Identifier: MIT OR Apache-2.0
// A program whose locks `holdfast run --conf` has rules for (run_test.py). Its arguments say what it does, in turn.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t a_variable = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t made_again = PTHREAD_MUTEX_INITIALIZER;
struct {
    long before[2];
    pthread_mutex_t mutex;
} a_struct;
pthread_rwlock_t a_rwlock = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) void make_mutex(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    pthread_mutex_init(mutex, attributes);
    __asm__ volatile(""); // not a tail call, which would return to the caller
}

static void make(int times, int shared) {
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, shared);
    for (int i = 0; i < times; i++)
        make_mutex(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void *read_lock(void *rwlock) {
    pthread_rwlock_rdlock(rwlock);
    pthread_rwlock_unlock(rwlock);
    return NULL;
}

static void read_in_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, read_lock, &a_rwlock);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    read_lock(&a_rwlock);
}

static int act(char **argument) {
    const char *what = *argument;
    if (!what)
        return 0;
    if (strcmp(what, "make-3") == 0) {
        make(3, PTHREAD_PROCESS_PRIVATE);
    } else if (strcmp(what, "make-shared") == 0) {
        make(1, PTHREAD_PROCESS_SHARED);
    } else if (strcmp(what, "make-again") == 0) {
        for (int i = 0; i < 3; i++) {
            pthread_mutex_init(&made_again, NULL);
            pthread_mutex_destroy(&made_again);
        }
    } else if (strcmp(what, "read") == 0) {
        read_in_threads();
    } else if (strcmp(what, "fork") == 0) { // the child does the rest
        pid_t child = fork();
        int status = 1;
        if (child == 0)
            return act(argument + 1);
        waitpid(child, &status, 0);
        return status != 0;
    } else if (strcmp(what, "exec") == 0) {
        execv("/proc/self/exe", argument); // which becomes the program's name
        return 1;
    } else if (strcmp(what, "wait") == 0) {
        pause();
    } else {
        return 1;
    }
    return act(argument + 1);
}

int main(int argc, char **arguments) {
    return argc > 0 ? act(arguments + 1) : 1;
}
