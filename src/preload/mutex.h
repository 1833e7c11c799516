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

// How far a thread has come in giving a mutex back to wait for a condition.
enum hf_mutex_release_state {
    HF_MUTEX_HELD = 0, // it has not begun, or the mutex is a recursive one that it keeps
    HF_MUTEX_MARKED,   // `count` has its mark as long as it has the mutex: both go by one instruction
    HF_MUTEX_RELEASED,
};
struct hf_mutex_release {
    uint32_t count, nusers; // as they were
    uint32_t state;         // enum hf_mutex_release_state
};

// Before hf_mutex_unlock_to_wait, of an owner of a mutex of any kind.
struct hf_mutex_release hf_mutex_release_begin(pthread_mutex_t *posix);

// hf_mutex_unlock for a caller that does not want the mutex back before it is told to, and that may be thrown out of it
// at any instruction. Of one of glibc's it is not said how far that has come.
int hf_mutex_unlock_to_wait(pthread_mutex_t *posix, struct hf_mutex_release *release);

// A thread that was thrown out of that: whether it has the mutex still. If so, it has it as before; if not, what the
// release owed is paid.
bool hf_mutex_is_kept(pthread_mutex_t *posix, struct hf_mutex_release *release);

// Takes a mutex under FlexGuard, of any type, that the caller does not own and may have slept on, as a sleeper counted
// there, as which it is not counted any more when it has it (condition.C5, lock/posix/condition.h).
void hf_mutex_lock_as_sleeper(struct hf_mutex *mutex, bool *counted);

#endif
