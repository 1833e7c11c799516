// SPDX-License-Identifier: MIT OR Apache-2.0
// A library that is preloaded besides, as tracers and wrappers are: it hooks what programs ask the system for, and each
// hook takes a mutex, a reader-writer lock and a spinlock of its own, which are Holdfast's choice as the program's are.
// A hook that is called by a thread that has just taken one of those, or with a lock of Holdfast's, waits for ever.
//
// Shown able to fail: with the build that asked for mmap, getpid and pthread_sigmask by name.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>

#include "hook.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long calls;

static void note_call(void) {
    pthread_rwlock_wrlock(&rwlock);
    pthread_mutex_lock(&mutex);
    calls++;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&rwlock);
}

HOOK(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
     (at, bytes, protection, flags, fd, offset))
HOOK(int, munmap, (void *at, size_t bytes), (at, bytes))
HOOK(int, madvise, (void *at, size_t bytes, int advice), (at, bytes, advice))
HOOK(pid_t, getpid, (void), ())
HOOK(pid_t, gettid, (void), ())
HOOK(int, pthread_key_create, (pthread_key_t * key, void (*destructor)(void *)), (key, destructor))
HOOK(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
HOOK(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))
HOOK(int, clock_gettime, (clockid_t clock, struct timespec *now), (clock, now))
HOOK(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
HOOK(int, sched_getaffinity, (pid_t thread, size_t bytes, cpu_set_t *mask), (thread, bytes, mask))

void *mremap(void *at, size_t bytes, size_t more, int flags, ...) {
    void *(*next)(void *, size_t, size_t, int, void *);
    *(void **)&next = note_call_of("mremap");
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return next(at, bytes, more, flags, to);
}
