// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a condition variable of Holdfast's lives inside glibc's pthread_cond_t.
//
//      bytes   glibc calls it                          Holdfast keeps there
//      0..31   __wseq, __g1_start, __g_refs, ...       the list of waiters (lock/condition.h)
//     36..39   __wrefs                                 bit 0: for several processes; bit 1: CLOCK_MONOTONIC; as glibc
//
// glibc's pthread_cond_init writes the attributes and zeroes the rest, and so does PTHREAD_COND_INITIALIZER. A
// condition variable for several processes is glibc's entirely.
#ifndef HF_PRELOAD_COND_LAYOUT_H
#define HF_PRELOAD_COND_LAYOUT_H

#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "lock/condition.h"

_Static_assert(sizeof(struct hf_condition) <= offsetof(pthread_cond_t, __data.__wrefs), "nothing over the attributes");

enum { HF_COND_SHARED = 1, HF_COND_MONOTONIC = 2 };

static inline unsigned hf_cond_attributes(const pthread_cond_t *cond) {
    return hf_load_relaxed(&cond->__data.__wrefs);
}

static inline struct hf_condition *hf_condition_in(pthread_cond_t *cond) {
    return (struct hf_condition *)cond;
}

// Does the glibc that we run with keep the attributes where the one that we were built with does?
bool hf_cond_is_laid_out_as_known(void);

#endif
