// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a condition variable of Holdfast's lives inside glibc's pthread_cond_t.
//
//      bytes   glibc calls it                          Holdfast keeps there
//      0..23   __wseq, __g1_start, __g_refs or         the list of waiters (lock/posix/condition.h)
//              __g_size
//     24..47   the rest, __wrefs among them            as glibc: bit 0: for several processes; bit 1: CLOCK_MONOTONIC
//
// __wrefs has the attributes. It is at byte 36, and at byte 28 from glibc 2.41 on and in older ones that were given
// 2.41's condition variable by their distribution. glibc's pthread_cond_init writes the attributes and zeroes the rest,
// and so does PTHREAD_COND_INITIALIZER. So wherever they are behind the list, all words there together say what they
// are, of a condition variable of ours. One for several processes is glibc's entirely: of that the words say so, and
// may have other bits besides. Of another glibc's glibc_layout.c finds out whether this is so.
//
// What glibc's functions do to one of ours that reaches them past Holdfast: signal, broadcast and destroy see that
// nobody waits, and write nothing but bit 2 of __wrefs.
#ifndef HF_PRELOAD_COND_LAYOUT_H
#define HF_PRELOAD_COND_LAYOUT_H

#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "lock/posix/condition.h"

enum { HF_COND_OURS_BYTES = 24, HF_COND_SHARED = 1, HF_COND_MONOTONIC = 2 };

_Static_assert(sizeof(struct hf_condition) <= HF_COND_OURS_BYTES, "nothing over the attributes");
_Static_assert(sizeof(pthread_cond_t) == HF_COND_OURS_BYTES + 3 * sizeof(uint64_t), "all that glibc may keep them in");

// Both halves of each pair of words that glibc keeps.
static inline uint64_t hf_cond_attributes_twice(const pthread_cond_t *cond) {
    const uint64_t *glibcs = (const uint64_t *)((const char *)cond + HF_COND_OURS_BYTES);
    return hf_load_relaxed(&glibcs[0]) | hf_load_relaxed(&glibcs[1]) | hf_load_relaxed(&glibcs[2]);
}

static inline unsigned hf_cond_attributes(const pthread_cond_t *cond) {
    uint64_t twice = hf_cond_attributes_twice(cond);
    return (unsigned)(twice | twice >> 32);
}

static inline bool hf_cond_is_shared(const pthread_cond_t *cond) {
    return hf_cond_attributes_twice(cond) & ((uint64_t)HF_COND_SHARED << 32 | HF_COND_SHARED);
}

static inline struct hf_condition *hf_condition_in(pthread_cond_t *cond) {
    return (struct hf_condition *)cond;
}

#endif
