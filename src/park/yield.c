// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/yield.h"

#include "base/atomic.h"
#include "base/system_call.h"

static bool forgone;

bool hf_yield_is_forgone(void) {
    return hf_load_relaxed(&forgone);
}

bool hf_yield_with(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth) {
    if (hf_yield_is_forgone())
        return false;
    hf_sys_sched_yield(first, second, third, fourth);
    return true;
}

void hf_yield(void) {
    hf_yield_with(0, 0, 0, 0);
}

void hf_yield_forgo(void) {
    hf_store_relaxed(&forgone, true);
}
