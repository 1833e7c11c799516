// SPDX-License-Identifier: MIT OR Apache-2.0
// In place of src/base/signal_mask.h: a simulated thread is not made to leave while it has its signals blocked.
#ifndef HF_BASE_SIGNAL_MASK_H
#define HF_BASE_SIGNAL_MASK_H

#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns what was before.
bool hf_sim_block_signals(bool blocked);

#ifdef __cplusplus
}
#endif

static inline void hf_block_all_signals(sigset_t *saved) {
    *(bool *)saved = hf_sim_block_signals(true);
}

static inline void hf_unblock_signals(const sigset_t *saved) {
    hf_sim_block_signals(*(const bool *)saved);
}

#endif
