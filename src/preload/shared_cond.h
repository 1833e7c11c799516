// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting on a condition variable that is glibc's: one for several processes, one of before glibc 2.3.2, or all of them
// where the policy says so.
#ifndef HF_PRELOAD_SHARED_COND_H
#define HF_PRELOAD_SHARED_COND_H

#include <pthread.h>
#include <time.h>

int hf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int hf_shared_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at);
int hf_shared_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at);

// By one of glibc's functions, told by its address.
typedef int hf_glibcs_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
typedef int hf_glibcs_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at);
int hf_wait_by_glibcs(hf_glibcs_wait *wait, pthread_cond_t *cond, pthread_mutex_t *mutex);
int hf_timedwait_by_glibcs(hf_glibcs_timedwait *wait, pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *at);

#endif
