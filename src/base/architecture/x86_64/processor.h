// SPDX-License-Identifier: MIT OR Apache-2.0
// What the code asks of an x86-64 processor itself.
#ifndef HF_ARCHITECTURE_PROCESSOR_H
#define HF_ARCHITECTURE_PROCESSOR_H

#include <stdint.h>

// Tells the processor that this is a polling loop.
static inline void hf_pause(void) {
    __builtin_ia32_pause();
}

// Ticks of the fastest counter that user space can read. Only differences mean anything.
static inline uint64_t hf_ticks(void) {
    return __builtin_ia32_rdtsc();
}

// By how many powers of two a tick is longer than one of 2 to 4 GHz. Where a time need not be exact, it is written as
// ticks of that length, and shifted by this.
static inline unsigned hf_tick_coarseness(void) {
    return 0;
}

#endif
