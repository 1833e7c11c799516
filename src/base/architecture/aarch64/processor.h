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

// By how many powers of two a tick is longer than one of 2 to 4 GHz: 2 to 7 on the processors that there are. Where a
// time need not be exact, it is written as ticks of that length, and shifted by this.
static inline unsigned hf_tick_coarseness(void) {
    const int bits_of_2_ghz = 31, most = 12;
    uint64_t ticks_a_second;
    __asm__ __volatile__("mrs %0, cntfrq_el0" : "=r"(ticks_a_second));
    int bits = bits_of_2_ghz - (63 - __builtin_clzll(ticks_a_second | 1));
    return (unsigned)(bits < 0 ? 0 : bits > most ? most : bits);
}

#endif
