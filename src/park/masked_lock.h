// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock word around a list of our own that a signal handler may come to, too: taken with all signals blocked, for a
// handler that locks, run while this thread is in there, would wait for itself.
#ifndef HF_PARK_MASKED_LOCK_H
#define HF_PARK_MASKED_LOCK_H

#include <pthread.h>
#include <signal.h>

#include "park/word_lock.h"

// `saved`: the signals that were blocked before, for the unlock.
static inline void hf_masked_lock(uint32_t *word, sigset_t *saved) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, saved);
    if (!hf_word_trylock(word, HF_WORD_HELD))
        hf_word_lock_blocking(word, NULL);
}

static inline void hf_masked_unlock(uint32_t *word, const sigset_t *saved) {
    hf_word_unlock(word);
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}

#endif
