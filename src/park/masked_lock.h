// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock word around a list of our own that a signal handler may come to, too: taken with all signals blocked, for a
// handler that locks, run while this thread is in there, would wait for itself.
#ifndef HF_PARK_MASKED_LOCK_H
#define HF_PARK_MASKED_LOCK_H

#include <signal.h>

#include "base/signal_mask.h"
#include "park/fork_guard.h"
#include "park/word_lock.h"

static inline void hf_lock_while_masked(uint32_t *word) {
    if (!hf_word_trylock(word, HF_WORD_HELD))
        hf_word_lock_blocking(word, NULL);
}

// `saved`: the signals that were blocked before, for the unlock.
static inline void hf_masked_lock(uint32_t *word, sigset_t *saved) {
    hf_block_all_signals(saved);
    hf_lock_while_masked(word);
}

// The same around a list that a forked child has to put in order first (park/fork_guard.h). The guard is asked with
// signals blocked: a handler that forked between the question and the lock would return, in the child, to a word that
// may be held by a thread which only the parent has.
static inline void hf_masked_lock_in_order(uint32_t *word, struct hf_fork_guard *guard, sigset_t *saved) {
    hf_block_all_signals(saved);
    hf_fork_guard_repair_if_forked(guard);
    hf_lock_while_masked(word);
}

static inline void hf_masked_unlock(uint32_t *word, const sigset_t *saved) {
    hf_word_unlock(word);
    hf_unblock_signals(saved);
}

#endif
