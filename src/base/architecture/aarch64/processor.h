// SPDX-License-Identifier: MIT OR Apache-2.0
// What the code asks of a 64-bit Arm processor itself.
#ifndef HF_ARCHITECTURE_PROCESSOR_H
#define HF_ARCHITECTURE_PROCESSOR_H

#include <stdint.h>

// Tells the processor that this is a polling loop. ISB empties the pipeline, which takes some tens of nanoseconds;
// YIELD does nothing where a core runs one thread, as nearly all do.
static inline void hf_pause(void) {
    __asm__ __volatile__("isb" ::: "memory");
}

// Ticks of the generic timer's counter, which every core of a machine shares. Only differences mean anything. It ticks
// some 24 million to a billion times a second: what is shorter than a tick takes none. As x86's it may be read a little
// before instructions that stand before it.
static inline uint64_t hf_ticks(void) {
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

#endif
