// SPDX-License-Identifier: MIT OR Apache-2.0
// What threads do at locks besides polling and sleeping until they are woken: how often each such step was taken, in
// the process's statistics, so that a user sees which rule acts in a program that is slower than it should be. Each
// takes a call of the kernel, or costs another thread one: an addition to a line that threads share is little beside
// that.
#ifndef HF_OBSERVE_COUNTED_STEPS_H
#define HF_OBSERVE_COUNTED_STEPS_H

#include "observe/noting_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where there is memory for statistics.
static inline void hf_count_step(enum hf_counted_step step) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        hf_fetch_add_relaxed(&hf_statistics_header_in(memory)->steps[step], 1);
}

#ifdef __cplusplus
}
#endif

#endif
