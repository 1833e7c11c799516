// SPDX-License-Identifier: MIT OR Apache-2.0
// Time-slice extension: from Linux 7.0 on a thread can ask, in its rseq area, to be switched out a moment later. The
// numbers and the layout are Linux's (the user headers linux/prctl.h and linux/rseq.h of 7.0), which older headers do
// not have. Unchecked on such a kernel.
#ifndef HF_BASE_SLICE_EXTENSION_H
#define HF_BASE_SLICE_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system_call.h"

enum {
    HF_PR_RSEQ_SLICE_EXTENSION = 79,
    HF_PR_RSEQ_SLICE_EXTENSION_SET = 2,
    HF_PR_RSEQ_SLICE_EXT_ENABLE = 1,
    HF_SYS_RSEQ_SLICE_YIELD = 471,
};

// In struct rseq, at HF_RSEQ_SLICE_OFFSET.
struct hf_slice_control {
    uint8_t request; // by the thread; the kernel clears it when it grants
    uint8_t granted; // by the kernel
    uint16_t reserved;
};
#define HF_RSEQ_SLICE_OFFSET 28

// Lets the calling thread ask. False: this kernel, or this libc's rseq area, has no such thing.
static inline bool hf_slice_extension_enable(void) {
    return hf_sys_prctl(HF_PR_RSEQ_SLICE_EXTENSION, HF_PR_RSEQ_SLICE_EXTENSION_SET, HF_PR_RSEQ_SLICE_EXT_ENABLE, 0,
                        0) == 0;
}

#endif
