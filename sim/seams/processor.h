// SPDX-License-Identifier: MIT OR Apache-2.0
// What the code asks of a simulated processor.
#ifndef HF_ARCHITECTURE_PROCESSOR_H
#define HF_ARCHITECTURE_PROCESSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void hf_sim_pause(void);
uint64_t hf_sim_ticks(void);

static inline void hf_pause(void) {
    hf_sim_pause();
}

// A nanosecond each.
static inline uint64_t hf_ticks(void) {
    return hf_sim_ticks();
}

// As if it ticked as fast as x86's counter.
static inline unsigned hf_tick_coarseness(void) {
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
