// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/yield.h"

#include "base/atomic.h"
#include "base/system_call.h"

static bool forgone;

void hf_yield(void) {
    if (!hf_load_relaxed(&forgone))
        hf_sys_sched_yield();
}

void hf_yield_forgo(void) {
    hf_store_relaxed(&forgone, true);
}
