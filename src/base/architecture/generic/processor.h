// SPDX-License-Identifier: MIT OR Apache-2.0
// In place of what the code asks of a processor that it does not know.
#ifndef HF_ARCHITECTURE_PROCESSOR_H
#define HF_ARCHITECTURE_PROCESSOR_H

#include <stdint.h>
#include <time.h>

#include "base/atomic.h"

static inline void hf_pause(void) {
    hf_program_order(); // the compiler must not make a poll of many
}

static inline uint64_t hf_ticks(void) {
    struct timespec now = {}; // where the kernel does not tell: no time passes
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// By how many powers of two a tick is longer than one of 2 to 4 GHz.
static inline unsigned hf_tick_coarseness(void) {
    return 2;
}

#endif
