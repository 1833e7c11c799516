// SPDX-License-Identifier: MIT OR Apache-2.0
// Signals blocked for a moment. The simulator has a header of its own in this one's place (sim/seams).
#ifndef HF_BASE_SIGNAL_MASK_H
#define HF_BASE_SIGNAL_MASK_H

#include <signal.h>

#include "base/system_call.h"

// All of them, cancellation's among them: a thread that is cancelled in there would never give the lock back. Of a
// sigset_t the kernel has the first word.
static inline void hf_block_all_signals(sigset_t *saved) {
    const uint64_t all = ~UINT64_C(0);
    hf_sys_rt_sigprocmask(SIG_SETMASK, &all, (uint64_t *)saved);
}

static inline void hf_unblock_signals(const sigset_t *saved) {
    hf_sys_rt_sigprocmask(SIG_SETMASK, (const uint64_t *)saved, NULL);
}

#endif
