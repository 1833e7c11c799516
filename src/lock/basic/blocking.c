// SPDX-License-Identifier: MIT OR Apache-2.0
// The three-state word and nothing else. States and invariants: park/word_lock.h.
#include "holdfast/blocking.h"

#include <errno.h>

#include "park/deadline.h"
#include "park/word_lock.h"

void hf_blocking_lock(hf_blocking_t *lock) {
    if (HF_UNLIKELY(!hf_word_trylock(&lock->word, HF_WORD_HELD)))
        hf_word_lock_blocking(&lock->word, NULL);
}

bool hf_blocking_trylock(hf_blocking_t *lock) {
    return hf_word_trylock(&lock->word, HF_WORD_HELD);
}

int hf_blocking_clocklock(hf_blocking_t *lock, clockid_t clock, const struct timespec *at) {
    if (hf_word_trylock(&lock->word, HF_WORD_HELD))
        return 0;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return hf_deadline_is_valid(&deadline) ? hf_word_lock_blocking(&lock->word, &deadline) : EINVAL;
}

void hf_blocking_unlock(hf_blocking_t *lock) {
    hf_word_unlock(&lock->word);
}
