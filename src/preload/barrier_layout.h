// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier of Holdfast's inside glibc's pthread_barrier_t.
//
//      bytes   glibc calls it     Holdfast keeps there
//      0..3    in                 the same
//      4..7    current_round      let_go, the same
//      8..11   count              the same
//     12..15   shared             the same; not 0: the barrier is glibc's entirely
//     16..19   out                the same
//     24..31   nothing            spin_rounds
#ifndef HF_PRELOAD_BARRIER_LAYOUT_H
#define HF_PRELOAD_BARRIER_LAYOUT_H

#include <pthread.h>

#include "lock/posix/barrier.h"

_Static_assert(sizeof(struct hf_barrier) <= sizeof(pthread_barrier_t), "nothing behind glibc's barrier");

static inline struct hf_barrier *hf_barrier_in(pthread_barrier_t *barrier) {
    return (struct hf_barrier *)barrier;
}

#endif
