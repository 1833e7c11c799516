// SPDX-License-Identifier: MIT OR Apache-2.0
// A yield: the caller lets others run that the kernel has on its CPU's queue; it goes on at once where there are none.
#ifndef HF_PARK_YIELD_H
#define HF_PARK_YIELD_H

#ifdef __cplusplus
extern "C" {
#endif

void hf_yield(void);

// From now on the kernel isn't asked for it: what is to come may not survive that.
void hf_yield_forgo(void);

#ifdef __cplusplus
}
#endif

#endif
