// SPDX-License-Identifier: MIT OR Apache-2.0
// Virtual blocking: a waiter that stays on its CPU's run queue, kept off the CPU by the oversubscription scheduler
// (docs/oversubscription.md). A sleep and a wake by futex(2) take the thread from a run queue and put it on one; where
// there are many more threads than CPUs, that is most of what a wait costs.
//
// Wakers do nothing else than ever: the scheduler sees their FUTEX_WAKE. A wait may end for no reason; what it said
// before it said nothing of, a thread that waits looks at the word.
#ifndef HF_PARK_VIRTUAL_WAIT_H
#define HF_PARK_VIRTUAL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// Set by 'holdfast run' and 'holdfast oversub' for programs that start under the scheduler.
#define HF_OVERSUB_VARIABLE "HOLDFAST_OVERSUB"

extern bool hf_may_wait_virtually __attribute__((visibility("hidden")));

// Waits while *word is `expected`, virtually if that is possible. True: the word is another by now. False: it is what
// it was, and the caller sleeps on it by futex(2).
bool hf_wait_virtually_for(const uint32_t *word, uint32_t expected, uint32_t kinds)
    __attribute__((cold, visibility("hidden")));

// Tells the scheduler, now and with each wait, where the calling thread's record is (park_call.h). The number is the
// same for all threads of the process.
void hf_tell_scheduler_of_record(int64_t offset) __attribute__((visibility("hidden")));

static inline bool hf_wait_virtually(const uint32_t *word, uint32_t expected, uint32_t kinds) {
    return HF_UNLIKELY(hf_load_relaxed(&hf_may_wait_virtually)) && hf_wait_virtually_for(word, expected, kinds);
}

#ifdef __cplusplus
}
#endif

#endif
