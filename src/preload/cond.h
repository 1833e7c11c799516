// SPDX-License-Identifier: MIT OR Apache-2.0
// What programs call as pthread_cond_*, for the interposer itself.
#ifndef HF_PRELOAD_COND_H
#define HF_PRELOAD_COND_H

#include <pthread.h>
#include <time.h>

int hf_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int hf_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at);
int hf_cond_signal(pthread_cond_t *cond);
int hf_cond_broadcast(pthread_cond_t *cond);

#endif
