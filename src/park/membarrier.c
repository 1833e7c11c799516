// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/membarrier.h"

#include <linux/membarrier.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/system_call.h"
#include "park/timed_sleep.h"

// A store buffer empties by itself, as fast as its lines come: in microseconds.
enum { HF_STORES_ARE_SEEN_NS = 10 * 1000 * 1000 };

static bool is_quick, is_forgone;

static bool membarrier(int command) {
    return hf_sys_membarrier(command) == 0;
}

// At the start, when there are no other threads: later on the kernel would have to wait for each CPU.
__attribute__((constructor)) static void announce(void) {
    hf_store_relaxed(&is_quick, membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
}

bool hf_heavy_fence_is_quick(void) {
    return hf_load_relaxed(&is_quick);
}

// Sleeping, unless that is refused as well.
static void wait_until_stores_are_seen(void) {
    uint64_t begin_ns = hf_monotonic_ns();
    do {
        hf_timed_sleep(HF_STORES_ARE_SEEN_NS);
    } while (hf_ns_since(begin_ns, hf_monotonic_ns()) < HF_STORES_ARE_SEEN_NS);
}

void hf_heavy_fence(void) {
    if (hf_load_relaxed(&is_forgone) || !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        hf_store_relaxed(&is_quick, false);
        wait_until_stores_are_seen();
    }
}

void hf_heavy_fence_forgo(void) {
    hf_store_relaxed(&is_forgone, true);
    hf_store_relaxed(&is_quick, false);
}
