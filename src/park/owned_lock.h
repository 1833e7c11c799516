// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock word that says whose it is. For short sections that a thread may be thrown out of at any instruction (a signal
// handler leaves by siglongjmp, the thread is cancelled asynchronously) and must put in order then: whether it was
// inside no mark beside the word could tell, which would be made before or after.
//
//              CAS by the owner-to-be, with its number
//     +------+ ---------------------------------------> +--------+
//     | FREE |                                          | NUMBER | --+
//     +------+ <--------------------------------------- +--------+   | CAS by a thread
//        ^  |    exchange by the owner                               | about to sleep
//        |  |                                  +-------------------+ |
//        |  +--------------------------------> | NUMBER | SLEEPERS | <
//        |    CAS by a thread that has slept   +-------------------+
//        +----------------------------------------------|
//             exchange by the owner, which wakes one
//
// owned.O1  Exclusion, and by whom. The word has the number of the thread that is inside, from the instruction by which
//     it comes in to the one by which it goes; nobody else stores that number.
// owned.O2  No lost wake: as word.I2 (park/word_lock.h). A thread that is thrown out of a wait, or out of a release,
//     wakes one that sleeps: it may have had the wake, or owed it.
// Modelled in verify/lock/condition_left.pml. Test: tests/park/owned_lock_test.
#ifndef HF_PARK_OWNED_LOCK_H
#define HF_PARK_OWNED_LOCK_H

#include "base/atomic.h"
#include "base/check.h"
#include "base/cpu.h"
#include "park/futex.h"

#ifdef __cplusplus
extern "C" {
#endif

// `number`: the caller's, below HF_OWNED_SLEEPERS and not 0 (thread/thread_number.h).
enum { HF_OWNED_FREE = 0 };
#define HF_OWNED_SLEEPERS UINT32_C(0x80000000)

// Acquire: pairs with the release in hf_owned_unlock.
static inline bool hf_owned_trylock(uint32_t *word, uint32_t number) {
    return hf_cas_acquire(word, HF_OWNED_FREE, number);
}

// Takes the lock, sleeping while it is held.
void hf_owned_lock_blocking(uint32_t *word, uint32_t number) __attribute__((cold));

static inline bool hf_owned_is_by(const uint32_t *word, uint32_t number) {
    return (hf_load_relaxed(word) & ~HF_OWNED_SLEEPERS) == number; // only the caller itself can have stored it
}

static inline void hf_owned_unlock(uint32_t *word) {
    uint32_t was = hf_exchange_release(word, HF_OWNED_FREE);
    HF_CHECK("owned.O1", was != HF_OWNED_FREE);
    if (HF_UNLIKELY(was & HF_OWNED_SLEEPERS))
        hf_futex_wake(word, 1);
}

#ifdef __cplusplus
}
#endif

#endif
