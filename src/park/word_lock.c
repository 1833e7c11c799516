// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/word_lock.h"

#include <errno.h>

int hf_word_lock_blocking(uint32_t *word, const struct hf_deadline *deadline) {
    // The kernel never times out a waiter that it has chosen for a wake, so giving up loses none; at worst the word
    // keeps saying HELD_WITH_SLEEPERS and the next unlock wakes nobody (word.I2 holds).
    while (!hf_word_take_or_announce(word)) {
        if (hf_futex_wait(word, HF_WORD_HELD_WITH_SLEEPERS, deadline) == ETIMEDOUT)
            return ETIMEDOUT;
    }
    return 0;
}

// The word stays HELD_WITH_SLEEPERS until it is FREE: heir.H2.
enum hf_word_owes hf_word_release_to_heir(uint32_t *word) {
    bool has_heir = hf_load_relaxed(word) == HF_WORD_HELD_WITH_SLEEPERS && hf_heir_mark(word);
    if (hf_word_release(word))
        return has_heir ? HF_WORD_OWES_WAKE_IF_NO_HEIR : HF_WORD_OWES_WAKE;
    return HF_WORD_OWES_NOTHING;
}
