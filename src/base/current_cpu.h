// SPDX-License-Identifier: MIT OR Apache-2.0
// The CPU that the caller runs on, found without a call of the kernel where that is possible.
#ifndef HF_BASE_CURRENT_CPU_H
#define HF_BASE_CURRENT_CPU_H

#ifdef __cplusplus
extern "C" {
#endif

// From the thread's rseq area or, without one, from the kernel.
unsigned hf_current_cpu(void) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
