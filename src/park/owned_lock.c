// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/owned_lock.h"

void hf_owned_lock_blocking(uint32_t *word, uint32_t number) {
    uint32_t taken = number;
    for (;;) {
        uint32_t seen = hf_load_relaxed(word);
        if (seen == HF_OWNED_FREE) {
            if (hf_cas_acquire(word, HF_OWNED_FREE, taken))
                return;
            continue;
        }
        if (!(seen & HF_OWNED_SLEEPERS) && !hf_cas_relaxed(word, seen, seen | HF_OWNED_SLEEPERS))
            continue;
        hf_futex_wait(word, seen | HF_OWNED_SLEEPERS, NULL);
        taken = number | HF_OWNED_SLEEPERS; // owned.O2: it can't know who still sleeps
    }
}
