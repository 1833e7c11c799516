// SPDX-License-Identifier: MIT OR Apache-2.0
// glibc's own functions, for what Holdfast passes on.
#ifndef HF_PRELOAD_GLIBC_H
#define HF_PRELOAD_GLIBC_H

#include <pthread.h>
#include <time.h>

struct hf_glibc {
    int (*mutex_lock)(pthread_mutex_t *);
    int (*mutex_trylock)(pthread_mutex_t *);
    int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*mutex_unlock)(pthread_mutex_t *);
    int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
};

// Found on first use, which may be before any constructor has run and on several threads at once.
const struct hf_glibc *hf_glibc(void) __attribute__((cold));

#endif
