// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which parts of the program this kernel is given (monitor/bpf/monitor_parts.h). The verifier knows constants of
// read-only data, and drops what is not reached: a part that is left out costs a load, and may use what a kernel has
// not.
#ifndef HF_MONITOR_BPF_MONITOR_PARTS_BPF_H
#define HF_MONITOR_BPF_MONITOR_PARTS_BPF_H

#include "monitor/bpf/monitor_parts.h"

const volatile uint32_t parts = HF_PARTS_ALL;

// For tests: parts that this kernel refuses, whatever they do.
const volatile uint32_t refused_parts = 0;

static __always_inline bool has(uint32_t part) {
    if (!(parts & part))
        return false;
    if (refused_parts & part) {
        uint64_t nothing;
        asm volatile("%0 = *(u64 *)(r10 + 8)" : "=r"(nothing)); // above the stack
    }
    return true;
}

#endif
