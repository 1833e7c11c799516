// SPDX-License-Identifier: MIT OR Apache-2.0
// Signals blocked for a moment. The simulator has a header of its own in this one's place (sim/seams).
#ifndef HF_BASE_SIGNAL_MASK_H
#define HF_BASE_SIGNAL_MASK_H

#include <signal.h>

#include "base/cpu.h"
#include "base/system_call.h"

// Of a sigset_t the kernel has the first word. In the second we say whether there is something to go back to: a sandbox
// may refuse the first call, and not the second.
enum { HF_MASK_SAVED_IN = 1 };

// All of them, cancellation's among them: a thread that is cancelled in there would never give the lock back.
static inline void hf_block_all_signals(sigset_t *saved) {
    const uint64_t all = ~UINT64_C(0);
    uint64_t *words = (uint64_t *)saved;
    words[HF_MASK_SAVED_IN] = hf_sys_rt_sigprocmask(SIG_SETMASK, &all, words) == 0;
}

static inline void hf_unblock_signals(const sigset_t *saved) {
    const uint64_t *words = (const uint64_t *)saved;
    if (HF_LIKELY(words[HF_MASK_SAVED_IN]))
        hf_sys_rt_sigprocmask(SIG_SETMASK, words, NULL);
}

#endif
