// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts how often waiters poll. Included before every source of the locks as the workloads link them; what is
// installed is compiled without (bench/CMakeLists.txt).
#ifndef HF_PEERS_POLL_COUNT_H
#define HF_PEERS_POLL_COUNT_H

#include <stdint.h>

#include "base/cpu.h"
#include "base/pause.h"

// Of the calling thread, since it began.
extern __thread uint64_t hf_polls;

static inline void hf_counted_pause(void) {
    hf_polls++;
    hf_pause();
}
#define hf_pause hf_counted_pause

static inline void hf_counted_timed_pause(void) {
    hf_polls++;
    hf_timed_pause();
}
#define hf_timed_pause hf_counted_timed_pause

#endif
