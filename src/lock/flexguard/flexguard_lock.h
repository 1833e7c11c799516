// SPDX-License-Identifier: MIT OR Apache-2.0
// FlexGuard's lock and unlock on a word and a queue tail wherever these lie: side by side in hf_flexguard_t, apart
// inside pthread_mutex_t. The fast paths are here; waiting is in flexguard.c. Paper, section 3.2 and Listing 2.
#ifndef HF_LOCK_FLEXGUARD_FLEXGUARD_LOCK_H
#define HF_LOCK_FLEXGUARD_FLEXGUARD_LOCK_H

#include "lock/wait/defer_policy.h"
#include "lock/wait/turn.h"
#include "lock/wait/waiter_queue.h"
#include "observe/observation.h"
#include "park/word_lock.h"

#ifdef __cplusplus
extern "C" {
#endif

// Waits for the lock. Called after the word was found taken, with the caller not critical. `held` is how to take the
// word: HF_WORD_HELD, or HF_WORD_HELD_WITH_SLEEPERS for a thread that may have slept on it (word.I2). Returns 0 with
// the lock held and the caller critical, or ETIMEDOUT at the deadline (NULL: none; then it may yield, yield_policy.h).
int hf_flexguard_wait(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                      struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held)
    __attribute__((cold, visibility("hidden")));

// The same for an adaptive mutex, as HF_WORD_HELD: it polls before it sleeps, however seldom the lock is released.
int hf_flexguard_wait_adaptive(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// The same in a slice of the lock's time, which a yield could outlast, as HF_WORD_HELD.
int hf_flexguard_wait_in_slice(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// The same for a part of a longer wait. The caller counts the wait and the acquisition, and notes them.
int hf_flexguard_go_on_waiting(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline, struct hf_wait *wait)
    __attribute__((cold, visibility("hidden")));

// Takes the word if it is free, as `held` (see hf_flexguard_wait). The caller counts the acquisition.
static inline bool hf_flexguard_try_word(uint32_t *word, struct hf_thread_record *self, enum hf_word_state held) {
    hf_critical_enter_for(self, word);
    if (HF_LIKELY(hf_word_trylock(word, held)))
        return true;
    hf_critical_leave(self);
    return false;
}

// The same as HF_WORD_HELD, for pthread_mutex_lock: see hf_word_trylock_own.
static inline bool hf_flexguard_try_own_word(uint32_t *word, struct hf_thread_record *self) {
    hf_critical_enter_for(self, word);
    if (HF_LIKELY(hf_word_trylock_own(word)))
        return true;
    hf_critical_leave(self);
    return false;
}

static inline bool hf_flexguard_try_acquire_as(uint32_t *word, struct hf_thread_record *self, enum hf_word_state held) {
    if (HF_UNLIKELY(!hf_flexguard_try_word(word, self, held)))
        return false;
    if (HF_UNLIKELY(hf_count_acquisition(self)))
        hf_note_free(word, self, HF_STATISTICS_MUTEX);
    return true;
}

static inline bool hf_flexguard_try_acquire(uint32_t *word, struct hf_thread_record *self) {
    return hf_flexguard_try_acquire_as(word, self, HF_WORD_HELD);
}

static inline int hf_flexguard_acquire(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                                       struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (HF_LIKELY(hf_flexguard_try_acquire(word, self)))
        return 0;
    return hf_flexguard_wait(word, tail, releases, self, deadline, HF_WORD_HELD);
}

// For a thread that may have slept on the word (word.I2).
static inline void hf_flexguard_acquire_as_sleeper(uint32_t *word, hf_queue_tail *tail,
                                                   const hf_release_count *releases, struct hf_thread_record *self) {
    if (!hf_flexguard_try_acquire_as(word, self, HF_WORD_HELD_WITH_SLEEPERS))
        hf_flexguard_wait(word, tail, releases, self, NULL, HF_WORD_HELD_WITH_SLEEPERS);
}

// While the word is ours (word.I4), hence no atomic addition.
static inline hf_release_count hf_flexguard_count_release(hf_release_count *releases) {
    hf_release_count count = (hf_release_count)(hf_load_own(releases) + 1);
    hf_store_relaxed(releases, count);
    return count;
}

// Gives the lock back and says what the caller owes it now (hf_flexguard_settle, hf_word_pay). The caller notes the
// release. For pthread_mutex_unlock: see hf_word_trylock_own.
static inline enum hf_word_owes hf_flexguard_give_own(uint32_t *word, hf_release_count *releases, uint8_t *fenced,
                                                      struct hf_thread_record *self) {
    enum hf_word_owes owes = hf_word_release_own(word, hf_flexguard_count_release(releases), fenced);
    if (HF_LIKELY(owes != HF_WORD_OWES_RELEASE))
        hf_critical_leave(self);
    return owes;
}

// Releases what is still held; `owes` says then what is owed.
struct hf_hold_end hf_flexguard_release_claimed(uint32_t *word, struct hf_thread_record *self, enum hf_word_owes *owes)
    __attribute__((cold, visibility("hidden")));

// First of all after a release.
static inline struct hf_hold_end hf_flexguard_settle(uint32_t *word, struct hf_thread_record *self,
                                                     enum hf_word_owes *owes) {
    if (HF_UNLIKELY(*owes == HF_WORD_OWES_RELEASE))
        return hf_flexguard_release_claimed(word, self, owes);
    return hf_hold_ends(word, self, *owes == HF_WORD_OWES_WAKE || *owes == HF_WORD_OWES_WAKE_IF_NO_HEIR);
}

// Of a release, what it owes: it wakes no sleeper where the lock is left to an heir (park/heirs.h).
void hf_flexguard_pay(const uint32_t *word, enum hf_word_owes owes) __attribute__((visibility("hidden")));

// What is left to do after a release, when something is owed or the thread observes a lock that it holds.
void hf_flexguard_pay_and_note(uint32_t *word, struct hf_thread_record *self, enum hf_word_owes owes)
    __attribute__((visibility("hidden")));

static inline void hf_flexguard_after_release(uint32_t *word, struct hf_thread_record *self, enum hf_word_owes owes) {
    if (HF_UNLIKELY(owes == HF_WORD_OWES_RELEASE)) {
        hf_flexguard_pay_and_note(word, self, HF_WORD_OWES_RELEASE);
        return;
    }
    hf_critical_leave(self);
    // Told apart, so that the path on which nothing is owed puts no value together.
    if (HF_UNLIKELY(owes == HF_WORD_OWES_WAKE))
        hf_flexguard_pay_and_note(word, self, HF_WORD_OWES_WAKE);
    else if (HF_UNLIKELY(owes == HF_WORD_OWES_WAKE_IF_NO_HEIR))
        hf_flexguard_pay_and_note(word, self, HF_WORD_OWES_WAKE_IF_NO_HEIR);
    else if (HF_UNLIKELY(owes == HF_WORD_OWES_UNFENCE))
        hf_flexguard_pay_and_note(word, self, HF_WORD_OWES_UNFENCE);
    else if (HF_UNLIKELY(hf_observes(self)))
        hf_flexguard_pay_and_note(word, self, HF_WORD_OWES_NOTHING);
}

// Of a word all of whose sleepers are counted (park/sleeper_counts.h), as those are that wait here.
static inline void hf_flexguard_release(uint32_t *word, hf_release_count *releases, uint8_t *fenced,
                                        struct hf_thread_record *self) {
    enum hf_word_owes owes = hf_word_release_counted(word, hf_flexguard_count_release(releases), fenced);
    hf_flexguard_after_release(word, self, owes);
}

// Of one on which threads may sleep that nobody has counted.
static inline void hf_flexguard_release_fenced(uint32_t *word, hf_release_count *releases,
                                               struct hf_thread_record *self) {
    hf_flexguard_count_release(releases);
    hf_flexguard_after_release(word, self, hf_word_owes_wake(hf_word_release(word)));
}

#ifdef __cplusplus
}
#endif

#endif
