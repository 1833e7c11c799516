// SPDX-License-Identifier: MIT OR Apache-2.0
// Test-and-test-and-set on a word that is FREE or HELD:
//
//     FREE --- exchange for HELD, by the thread that polls it first ---> HELD
//     HELD --- unlock stores FREE ---> FREE
//
// Exclusion: only an exchange that returns FREE enters (word.I1).
#include "holdfast/ttas.h"

#include <errno.h>

#include "base/poll.h"
#include "park/deadline.h"
#include "park/word_lock.h"
#include "thread/poll_pause.h"

// A deadline costs a clock reading; it is asked after every so many polls.
enum { HF_TTAS_POLLS_A_LOOK = 256 };

static bool poll_until_free(const uint32_t *word, struct hf_poll_pause *pause) {
    for (int polls = 0; polls < HF_TTAS_POLLS_A_LOOK; polls++) {
        if (hf_load_relaxed(word) == HF_WORD_FREE)
            return true;
        hf_poll_pause(pause);
        hf_polls_alike_counted(polls, 1, HF_TTAS_POLLS_A_LOOK - 1 - polls);
    }
    return false;
}

bool hf_ttas_trylock(hf_ttas_t *lock) {
    // Acquire: pairs with the release in hf_ttas_unlock.
    return hf_exchange_acquire(&lock->word, HF_WORD_HELD) == HF_WORD_FREE;
}

void hf_ttas_lock(hf_ttas_t *lock) {
    struct hf_poll_pause pause = {0};
    while (!hf_ttas_trylock(lock)) {
        while (!poll_until_free(&lock->word, &pause))
            continue;
    }
}

int hf_ttas_clocklock(hf_ttas_t *lock, clockid_t clock, const struct timespec *at) {
    if (hf_ttas_trylock(lock))
        return 0;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (!hf_deadline_is_valid(&deadline))
        return EINVAL;
    struct hf_poll_pause pause = {0};
    do {
        if (poll_until_free(&lock->word, &pause) && hf_ttas_trylock(lock))
            return 0;
    } while (!hf_deadline_has_passed(&deadline));
    return ETIMEDOUT;
}

void hf_ttas_unlock(hf_ttas_t *lock) {
    hf_store_release(&lock->word, HF_WORD_FREE);
}
