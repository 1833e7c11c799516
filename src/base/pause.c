// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/pause.h"

#include "base/clock.h"

uint32_t hf_pauses_a_timed_pause = 1;

enum {
    HF_PAUSES_TIMED = 64,
    HF_TIMINGS = 4, // the shortest counts: nothing interrupted it
};

static uint64_t time_pauses(void) {
    uint64_t begin_ns = hf_monotonic_ns();
    for (int pauses = 0; pauses < HF_PAUSES_TIMED; pauses++)
        hf_pause();
    return hf_monotonic_ns() - begin_ns;
}

__attribute__((constructor)) static void measure_rest(void) {
    uint64_t shortest_ns = time_pauses();
    for (int timings = 1; timings < HF_TIMINGS; timings++) {
        uint64_t ns = time_pauses();
        shortest_ns = ns < shortest_ns ? ns : shortest_ns;
    }
    hf_store_relaxed(&hf_pauses_a_timed_pause, hf_pauses_in_a_timed_pause(HF_PAUSES_TIMED, shortest_ns));
}
