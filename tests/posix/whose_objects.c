// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints whose each kind of object is, Holdfast's or glibc's, as far as the objects show it: how they look in use. Of a
// spinlock, whose word is the same, it prints whose function takes it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int go_on;

static uint32_t word_of(const void *object, size_t at) {
    uint32_t word;
    memcpy(&word, (const char *)object + at, sizeof(word));
    return word;
}

static void print(const char *kind, int is_holdfasts) {
    printf("%s: %s\n", kind, is_holdfasts ? "holdfast" : "glibc");
}

static void *wait_for_main(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!go_on)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

// Of ours the first word is a waiter's address, on its stack; of glibc's a small number.
static int cond_is_holdfasts(void) {
    pthread_t waiter;
    uint64_t first = 0;
    if (pthread_create(&waiter, NULL, wait_for_main, NULL) != 0)
        return -1;
    while (first == 0) {
        usleep(1000);
        pthread_mutex_lock(&mutex);
        memcpy(&first, &cond, sizeof(first));
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    go_on = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(waiter, NULL);
    return first > UINT32_MAX;
}

// Ours zeroes a word behind glibc's.
static int barrier_is_holdfasts(void) {
    pthread_barrier_t barrier;
    memset(&barrier, 0xaa, sizeof(barrier));
    pthread_barrier_init(&barrier, NULL, 2);
    return word_of(&barrier, 24) == 0;
}

// glibc counts readers from bit 3 on.
static int rwlock_is_holdfasts(void) {
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_rdlock(&rwlock);
    uint32_t state = word_of(&rwlock, 0);
    pthread_rwlock_unlock(&rwlock);
    return state != 8;
}

// Ours counts releases where glibc keeps how long to spin.
static int mutex_is_holdfasts(void) {
    return (word_of(&mutex, 20) & 0xffff) != 0;
}

static int spin_is_holdfasts(void) {
    Dl_info where = {0};
    return dladdr(dlsym(RTLD_DEFAULT, "pthread_spin_lock"), &where) && strstr(where.dli_fname, "holdfast") != NULL;
}

int main(void) {
    print("cond", cond_is_holdfasts());
    print("barrier", barrier_is_holdfasts());
    print("rwlock", rwlock_is_holdfasts());
    print("mutex", mutex_is_holdfasts());
    print("spin", spin_is_holdfasts());
    return 0;
}
