// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread's pace: how much time it has for each lock that it takes, from the end of its last wait on.
//
//                  waits for a lock: has it had HF_PACE_WORK_US or more for each that it took since?
//     the pace begins ------------------------------------------------------------------------------> wait.P7
//          ^  ^                                                                                        |
//          |  +------------------------------- the wait is over ---------------------------------------+
//          +---- it yields at the end of a turn (turn.h), which is no work
//
// Time that it did not have the CPU for other reasons counts as work, once: so does a sleep in the kernel, and a wait
// for others' work. Advice only.
// Test: tests/lock/wait/pace_test.
#ifndef HF_LOCK_WAIT_PACE_H
#define HF_LOCK_WAIT_PACE_H

#include <stdbool.h>

#include "lock/wait/tuning.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t hf_pace_acquisitions(struct hf_thread_record *self) {
    return (uint32_t)hf_counters(self)->acquisitions;
}

// `now_ns`, here and below: CLOCK_MONOTONIC.
static inline void hf_pace_begin(struct hf_thread_record *self, uint64_t now_ns) {
    struct hf_pace *pace = &hf_private(self)->pace;
    hf_store_relaxed(&pace->since_us, (uint32_t)(now_ns / 1000));
    hf_store_relaxed(&pace->acquisitions, hf_pace_acquisitions(self));
}

// A wait begins: has the thread worked, besides taking locks? The one that it waits for counts as taken.
static inline bool hf_pace_has_work(struct hf_thread_record *self, uint64_t now_ns) {
    const struct hf_pace *pace = &hf_private(self)->pace;
    uint32_t took_us = (uint32_t)(now_ns / 1000) - hf_load_relaxed(&pace->since_us);
    uint32_t locks = hf_pace_acquisitions(self) - hf_load_relaxed(&pace->acquisitions) + 1;
    return took_us >= (uint64_t)locks * HF_PACE_WORK_US;
}

#ifdef __cplusplus
}
#endif

#endif
