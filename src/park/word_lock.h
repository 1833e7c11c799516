// SPDX-License-Identifier: MIT OR Apache-2.0
// The lock word: three states, and the rules by which any number of different waiters may share it.
//
//                     CAS by a thread that has never slept here
//              +------------------------------------------------+
//              |                                                v
//          +------+   exchange by a thread on its way to     +------+
//          | FREE |   sleep, or one that has slept           | HELD |
//          +------+ ----------------------+                  +------+
//            ^  ^                         v                   |   |
//            |  |            +--------------------+  exchange |   | unlock:
//            |  +------------| HELD_WITH_SLEEPERS | <---------+   | nobody to wake
//            |  unlock:      +--------------------+  before it    |
//            |  wakes one                            sleeps       |
//            +----------------------------------------------------+
//
// These are the states of glibc's own low-level lock, with its numbers: code that reaches a pthread_mutex_t's word
// through glibc and code that reaches it through Holdfast exclude each other, and wake each other where a thread that
// sleeps through glibc is counted (sleeper_counts.h), or the unlock exchanges.
//
// word.I1  Exclusion. Only the thread that moved the word out of FREE is inside, or the one to which it has handed the
//     lock over since (claims.h), the word being held all the while.
// word.I2  No lost wake. While a thread sleeps, the word is HELD_WITH_SLEEPERS, or an unlocker is on its way to wake
//     one, or to look whether there is one (sleeper_counts.h), or a woken thread is on its way to store that, or to
//     find it stored, or a thread that polls, to which the sleepers are left (heirs.h). Hence a thread that has slept
//     always takes the lock by storing HELD_WITH_SLEEPERS: it can't know who still sleeps.
// word.I4  Release is the last touch. Once unlock has stored FREE the next owner may free the memory; the wake after it
//     uses the address only, never what it holds.
// Modelled in verify/lock/word_lock.pml and verify/lock/flexguard.pml; queue.I3 and I5, the queue's, are stated in
// src/lock/wait/waiter_queue.h.
#ifndef HF_PARK_WORD_LOCK_H
#define HF_PARK_WORD_LOCK_H

#include "base/atomic.h"
#include "base/check.h"
#include "base/cpu.h"
#include "base/single_threaded.h"
#include "park/claims.h"
#include "park/futex.h"
#include "park/heirs.h"
#include "park/sleeper_counts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_word_state {
    HF_WORD_FREE = 0,
    HF_WORD_HELD = 1,
    HF_WORD_HELD_WITH_SLEEPERS = 2,
};

// Takes the lock if it is free. `held` is HF_WORD_HELD, or HF_WORD_HELD_WITH_SLEEPERS for a thread that has slept
// (word.I2). Acquire: pairs with the release in hf_word_unlock.
static inline bool hf_word_trylock(uint32_t *word, enum hf_word_state held) {
    return hf_cas_acquire(word, HF_WORD_FREE, held);
}

// Of a thread on its way to sleep: takes the lock if it is free, as HF_WORD_HELD_WITH_SLEEPERS. If not, the word said
// that when it looked, and the thread may sleep on it as long as it does. A word that says so already is only read, as
// in glibc: an exchange that comes upon one that was just given back gets the lock by luck, with a sleeper to wake that
// there need not be.
static inline bool hf_word_take_or_announce(uint32_t *word) {
    return hf_load_relaxed(word) != HF_WORD_HELD_WITH_SLEEPERS &&
           hf_exchange_acquire(word, HF_WORD_HELD_WITH_SLEEPERS) == HF_WORD_FREE;
}

// The same as HF_WORD_HELD, of a word that no other process takes: what costs most, an atomic instruction, is spared
// while there is no other thread, as glibc spares it in pthread_mutex_lock and pthread_mutex_unlock. There only: in
// between may come a signal handler, which may not call these two, but may try to take the lock and keep it.
static inline bool hf_word_trylock_own(uint32_t *word) {
    if (HF_LIKELY(!hf_is_only_thread()))
        return hf_word_trylock(word, HF_WORD_HELD);
    if (hf_load_relaxed(word) != HF_WORD_FREE)
        return false;
    hf_store_relaxed(word, HF_WORD_HELD);
    return true;
}

// Gives the lock back and says whether a sleeper must be woken. Release: pairs with every acquire on the word.
static inline bool hf_word_release(uint32_t *word) {
    uint32_t was = hf_exchange_release(word, HF_WORD_FREE);
    HF_CHECK("word.I1", was != HF_WORD_FREE);
    return was == HF_WORD_HELD_WITH_SLEEPERS;
}

static inline void hf_word_wake(const uint32_t *word) {
    hf_futex_wake(word, 1);
}

// What is left to do after a release, at last: mostly nothing.
enum hf_word_owes {
    HF_WORD_OWES_NOTHING = 0,
    HF_WORD_OWES_WAKE,
    HF_WORD_OWES_WAKE_IF_NO_HEIR, // the owner has marked one (heirs.h)
    HF_WORD_OWES_UNFENCE,         // hf_sleepers_try_unfenced
    HF_WORD_OWES_RELEASE, // the word itself, which is still held: a claim may be on it (hf_word_release_claimed)
};

static inline enum hf_word_owes hf_word_owes_wake(bool wake) {
    return wake ? HF_WORD_OWES_WAKE : HF_WORD_OWES_NOTHING;
}

// Is this release, the number `releases`, the one at which owners look at the count of sleepers again?
static inline bool hf_word_looks_again(unsigned releases, uint8_t *fenced) {
    bool looks = releases % HF_RELEASES_FENCED == 0;
    if (looks)
        hf_store_own(fenced, 0);
    return looks;
}

// Where there may be an heir.
enum hf_word_owes hf_word_release_to_heir(uint32_t *word) __attribute__((cold, visibility("hidden")));

// Gives back a word whose sleepers are all counted (sleep.S1, park/sleeper_counts.h), if it can without an atomic
// instruction. `releases`: how often it has been given back. `fenced`, the lock's own, is for its owners: where
// sleepers come and go the line that counts them is away, so it is looked at once in so many releases only.
static inline enum hf_word_owes hf_word_release_counted(uint32_t *word, unsigned releases, uint8_t *fenced) {
    bool looks = hf_word_looks_again(releases, fenced);
    if (HF_LIKELY(!hf_load_own(fenced))) {
        struct hf_sleepers *sleepers = hf_sleepers_at(word);
        bool nobody_sleeps = hf_nobody_sleeps(sleepers);
        if (HF_LIKELY(nobody_sleeps && hf_load_relaxed(word) == HF_WORD_HELD)) {
            hf_store_release(word, HF_WORD_FREE);
            hf_program_order();
            return hf_word_owes_wake(!hf_nobody_sleeps(sleepers));
        }
        hf_store_own(fenced, !nobody_sleeps);
    }
    if (hf_claims_stand(word))
        return HF_WORD_OWES_RELEASE;
    if (HF_UNLIKELY(hf_heir_may_be_marked(word)))
        return hf_word_release_to_heir(word);
    if (hf_word_release(word))
        return HF_WORD_OWES_WAKE;
    return looks ? HF_WORD_OWES_UNFENCE : HF_WORD_OWES_NOTHING;
}

// The same for a thread that takes it by hf_word_trylock_own.
static inline enum hf_word_owes hf_word_release_own(uint32_t *word, unsigned releases, uint8_t *fenced) {
    if (HF_LIKELY(!hf_is_only_thread()))
        return hf_word_release_counted(word, releases, fenced);
    uint32_t was = hf_load_relaxed(word);
    HF_CHECK("word.I1", was != HF_WORD_FREE);
    hf_store_relaxed(word, HF_WORD_FREE);
    return hf_word_owes_wake(was == HF_WORD_HELD_WITH_SLEEPERS);
}

// What hf_word_release_counted has left undone. The caller is critical until this is done. `now_ticks`: hf_claims_meet.
static inline enum hf_word_owes hf_word_release_claimed(uint32_t *word, uint64_t now_ticks) {
    return hf_word_owes_wake(!hf_claims_meet(word, now_ticks) && hf_word_release(word));
}

static inline void hf_word_pay(const uint32_t *word, enum hf_word_owes owes) {
    if (owes == HF_WORD_OWES_WAKE || owes == HF_WORD_OWES_WAKE_IF_NO_HEIR)
        hf_word_wake(word);
    else if (owes == HF_WORD_OWES_UNFENCE)
        hf_sleepers_try_unfenced(word);
}

static inline void hf_word_unlock(uint32_t *word) {
    if (HF_UNLIKELY(hf_word_release(word)))
        hf_word_wake(word);
}

// Takes the lock, sleeping while it is held. Returns 0, or ETIMEDOUT after the deadline (NULL: never).
int hf_word_lock_blocking(uint32_t *word, const struct hf_deadline *deadline);

#ifdef __cplusplus
}
#endif

#endif
