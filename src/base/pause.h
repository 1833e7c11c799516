// SPDX-License-Identifier: MIT OR Apache-2.0
// A timed pause: what a waiter does between two polls where it counts them, to wait for some time and no longer.
//
// One pause instruction takes 14 ns on one processor and 37 on another, so a number of them says nothing about a time.
// A timed pause is as many as last some HF_TIMED_PAUSE_NS here.
#ifndef HF_BASE_PAUSE_H
#define HF_BASE_PAUSE_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HF_TIMED_PAUSE_NS = 40,
    // A pause never is as short; one that seems so was not timed right, or is emulated.
    HF_PAUSES_A_TIMED_PAUSE_MAX = 16,
};

// Measured when the library is loaded, some 10 us; 1 before.
extern uint32_t hf_pauses_a_timed_pause __attribute__((visibility("hidden")));

static inline void hf_timed_pause(void) {
    for (uint32_t pauses = hf_load_relaxed(&hf_pauses_a_timed_pause); pauses > 0; pauses--)
        hf_pause();
}

// How many pauses make a timed pause, when so many took so long.
static inline uint32_t hf_pauses_in_a_timed_pause(uint32_t pauses, uint64_t ns) {
    const uint32_t most = HF_PAUSES_A_TIMED_PAUSE_MAX;
    uint64_t rounded = ns == 0 ? most : ((uint64_t)pauses * HF_TIMED_PAUSE_NS + ns / 2) / ns;
    if (rounded < 1)
        return 1;
    return rounded < most ? (uint32_t)rounded : most;
}

#ifdef __cplusplus
}
#endif

#endif
