// SPDX-License-Identifier: MIT OR Apache-2.0
// An asymmetric fence: of two threads of which each stores and then loads what the other stores, one always sees the
// other's store if both have a full fence in between. Where one of them does this all the time and the other seldom,
// the seldom one can pay for both: it has the kernel fence every thread of the process (membarrier(2)). What the
// frequent one needs is hf_program_order, no instruction.
#ifndef HF_PARK_MEMBARRIER_H
#define HF_PARK_MEMBARRIER_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether hf_heavy_fence is as quick as a call of the kernel and some interrupts. Once it is not it never is again.
bool hf_heavy_fence_is_quick(void);

// Every other thread of the process passes a full fence at some moment between call and return, and so does the caller.
// Where the kernel refuses (a seccomp filter), it waits for so long that each CPU has emptied its store buffer, and is
// done with what it has loaded early, ten milliseconds: both take microseconds, though no manual promises a number.
// Leaves errno as it was.
void hf_heavy_fence(void);

// The kernel is not asked for one any more: what is to come may not survive that.
void hf_heavy_fence_forgo(void);

#ifdef __cplusplus
}
#endif

#endif
