// SPDX-License-Identifier: MIT OR Apache-2.0
// What programs call as pthread_mutex_*, for the interposer itself.
#ifndef HF_PRELOAD_MUTEX_H
#define HF_PRELOAD_MUTEX_H

#include <pthread.h>
#include <time.h>

#include "preload/mutex_layout.h"

int hf_mutex_lock(pthread_mutex_t *posix);
int hf_mutex_trylock(pthread_mutex_t *posix);
int hf_mutex_timedlock(pthread_mutex_t *posix, const struct timespec *at);
int hf_mutex_unlock(pthread_mutex_t *posix);
int hf_mutex_destroy(pthread_mutex_t *posix);

// pthread_mutex_init, called by code at `caller`.
int hf_mutex_init_for(pthread_mutex_t *posix, const pthread_mutexattr_t *attributes, const void *caller);

// hf_mutex_unlock for a caller that does not want the mutex back before it is told to.
int hf_mutex_unlock_to_wait(pthread_mutex_t *posix);

// Takes a mutex under FlexGuard, of any type, that the caller does not own and may have slept on, as a sleeper counted
// there (condition.C5, lock/posix/condition.h).
void hf_mutex_lock_as_sleeper(struct hf_mutex *mutex);

#endif
