// SPDX-License-Identifier: MIT OR Apache-2.0
// What a thread holds for reading, of locks at which readers may have to wait for writers that wait (RW-SCL under the
// interposer): so that it may read again what it reads already. Its own thread alone looks at it.
//
// Advice. A lock that another thread gives back than took it stays listed; with more locks than there is room for, and
// for threads without a record of their own, the answer is that it may be any.
#ifndef HF_THREAD_READS_HELD_H
#define HF_THREAD_READS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

enum { HF_READS_LISTED = 7 };

struct hf_reads_held {
    const void *lock[HF_READS_LISTED]; // as often as it is held
    uint32_t listed;
    uint32_t unlisted;
};

static inline bool hf_reads_include(const struct hf_reads_held *reads, const void *lock) {
    for (uint32_t i = reads->listed; i-- > 0;) {
        if (reads->lock[i] == lock)
            return true;
    }
    return reads->unlisted != 0;
}

// A signal handler that reads and gives back leaves the list as it was. So it may come anywhere in these two.

static inline void hf_reads_add(struct hf_reads_held *reads, const void *lock) {
    if (reads->listed == HF_READS_LISTED) {
        reads->unlisted++;
        return;
    }
    reads->listed++;
    hf_program_order();
    reads->lock[reads->listed - 1] = lock;
}

static inline void hf_reads_remove(struct hf_reads_held *reads, const void *lock) {
    for (uint32_t i = reads->listed; i-- > 0;) {
        if (reads->lock[i] != lock)
            continue;
        reads->lock[i] = reads->lock[reads->listed - 1];
        hf_program_order();
        reads->listed--;
        return;
    }
    reads->unlisted -= reads->unlisted != 0;
}

#endif
