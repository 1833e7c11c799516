// SPDX-License-Identifier: MIT OR Apache-2.0
// Two processes, of which one alone runs under the interposer, share objects of every kind that is for processes.
//
// usage: shared_with_plain PRELOAD     what the other process, which this one starts, has as LD_PRELOAD; - for nothing
//
// Shown able to fail: with process-shared reader-writer locks taken for Holdfast's (keeper_of in preload/rwlock.c) it
// does not end.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 10000, ROUNDS_TOGETHER = 100, TURNS = 200, COUNTS = 6 };

struct shared {
    pthread_mutex_t mutex, robust, inheriting;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spinlock;
    sem_t semaphore;
    volatile long count[COUNTS];
    int turn;
};

static void make(struct shared *all) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_rwlockattr_t rwlock;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&all->mutex, &mutex);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&all->robust, &mutex);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_STALLED);
    pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&all->inheriting, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&all->cond, &cond);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&all->rwlock, &rwlock);
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &barrier, 2);
    pthread_spin_init(&all->spinlock, PTHREAD_PROCESS_SHARED);
    sem_init(&all->semaphore, 1, 1);
}

// At times for long enough that the other process comes meanwhile.
static void be_inside(void) {
    static unsigned times;
    if (++times % 8 == 0)
        sched_yield();
}

static void count_under_mutex(struct shared *all, pthread_mutex_t *mutex, int which) {
    pthread_mutex_lock(mutex);
    long before = all->count[which];
    be_inside();
    all->count[which] = before + 1;
    pthread_mutex_unlock(mutex);
}

static void count_under_each(struct shared *all) {
    count_under_mutex(all, &all->mutex, 0);
    count_under_mutex(all, &all->robust, 1);
    count_under_mutex(all, &all->inheriting, 2);
    pthread_rwlock_wrlock(&all->rwlock);
    long before = all->count[3];
    be_inside();
    all->count[3] = before + 1;
    pthread_rwlock_unlock(&all->rwlock);
    pthread_rwlock_rdlock(&all->rwlock);
    be_inside();
    pthread_rwlock_unlock(&all->rwlock);
    pthread_spin_lock(&all->spinlock);
    all->count[4]++;
    pthread_spin_unlock(&all->spinlock);
    sem_wait(&all->semaphore);
    all->count[5]++;
    sem_post(&all->semaphore);
}

static void take_turns(struct shared *all, int mine) {
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&all->mutex);
        while (all->turn != mine)
            pthread_cond_wait(&all->cond, &all->mutex);
        all->turn = !mine;
        pthread_cond_broadcast(&all->cond);
        pthread_mutex_unlock(&all->mutex);
    }
}

static void work(struct shared *all, int mine) {
    for (int i = 0; i < ROUNDS; i++) {
        if (i % ROUNDS_TOGETHER == 0)
            pthread_barrier_wait(&all->barrier);
        count_under_each(all);
    }
    take_turns(all, mine);
}

static struct shared *map(int fd) {
    void *mapped = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        return mapped;
    perror("mmap");
    exit(2);
}

int main(int count, char **arguments) {
    if (count == 3) { // the other process
        work(map(atoi(arguments[2])), 1);
        return 0;
    }
    if (count != 2)
        return 2;
    int fd = memfd_create("shared", 0);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0)
        return 2;
    struct shared *all = map(fd);
    make(all);
    pid_t other = fork();
    if (other == 0) {
        char number[16];
        snprintf(number, sizeof(number), "%d", fd);
        setenv("LD_PRELOAD", strcmp(arguments[1], "-") == 0 ? "" : arguments[1], 1);
        execl("/proc/self/exe", arguments[0], "other", number, (char *)NULL);
        _exit(2);
    }
    work(all, 0);
    int status = -1;
    waitpid(other, &status, 0);
    int wrong = status != 0;
    for (int i = 0; i < COUNTS; i++) {
        wrong |= all->count[i] != 2L * ROUNDS;
        printf("%ld ", all->count[i]);
    }
    printf("of %d each; the other's status %x\n", 2 * ROUNDS, (unsigned)status);
    return wrong;
}
