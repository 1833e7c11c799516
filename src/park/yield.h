// SPDX-License-Identifier: MIT OR Apache-2.0
// A yield: the caller lets others run that the kernel has on its CPU's queue; it goes on at once where there are none.
#ifndef HF_PARK_YIELD_H
#define HF_PARK_YIELD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void hf_yield(void);

// The same, with something for the oversubscription scheduler in the registers of the call's arguments, of which it has
// none (park_call.h). False: it has been forgone.
bool hf_yield_with(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
    __attribute__((visibility("hidden")));

// From now on the kernel isn't asked for it: what is to come may not survive that.
void hf_yield_forgo(void);
bool hf_yield_is_forgone(void) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
