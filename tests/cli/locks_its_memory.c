// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that keeps all its memory in RAM, as real-time programs do, within the 8 MiB that Linux lets every user
// keep there. 3 MiB are its own. Its mutexes are waited for in vain, and taken: more than there is room for in what may
// be mapped for statistics then.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 2000, NOBODY = 65534, STACK_BYTES = 64 * 1024, OWN_BYTES = 3 << 20 };

static pthread_mutex_t locks[LOCKS];
static char own[OWN_BYTES];

static void *wait_in_vain(void *failed) {
    const struct timespec long_ago = {.tv_sec = 1};
    for (int i = 0; i < LOCKS; i++) {
        if (pthread_mutex_timedlock(&locks[i], &long_ago) != ETIMEDOUT)
            return failed;
    }
    return NULL;
}

static void *take_all(void *failed) {
    for (int i = 0; i < LOCKS; i++) {
        if (pthread_mutex_lock(&locks[i]) != 0)
            return failed;
    }
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_unlock(&locks[i]);
    return NULL;
}

static int runs(void *(*body)(void *)) {
    pthread_attr_t small;
    pthread_t thread;
    void *failed = &thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    return pthread_create(&thread, &small, body, failed) == 0 && pthread_join(thread, &failed) == 0 && !failed;
}

int main(void) {
    struct rlimit usual = {.rlim_cur = 8 << 20, .rlim_max = 8 << 20};
    if (setrlimit(RLIMIT_MEMLOCK, &usual) != 0 || (getuid() == 0 && setuid(NOBODY) != 0))
        return 2;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        perror("mlockall");
        return 3;
    }
    memset(own, 1, sizeof(own));
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&locks[i], NULL);
        pthread_mutex_lock(&locks[i]);
    }
    if (!runs(wait_in_vain))
        return 4;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_unlock(&locks[i]);
    if (!runs(take_all))
        return 5;
    puts("all in RAM");
    return 0;
}
