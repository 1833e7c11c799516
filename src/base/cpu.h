// SPDX-License-Identifier: MIT OR Apache-2.0
// What the code asks of the processor itself.
#ifndef HF_BASE_CPU_H
#define HF_BASE_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "processor.h" // hf_pause, hf_ticks

#define HF_CACHE_LINE_BYTES 64
#define HF_CACHE_ALIGNED __attribute__((aligned(HF_CACHE_LINE_BYTES)))

#define HF_LIKELY(x) __builtin_expect(!!(x), 1)
#define HF_UNLIKELY(x) __builtin_expect(!!(x), 0)

// Address that the thread's static TLS block is found from: what the kernel keeps as the thread's TLS base.
static inline char *hf_thread_pointer(void) {
    return (char *)__builtin_thread_pointer();
}

#endif
