// SPDX-License-Identifier: MIT OR Apache-2.0
// A spinlock in four bytes that stops spinning when that does not pay. Its word is that of glibc's pthread_spinlock_t,
// so processes with and without Holdfast exclude each other; hence there is no room for sleepers: waiters sleep for set
// times.
//
// spin.S1  Exclusion. Only the thread that changed FREE into HELD is inside; every other value is one that glibc has
//     made of HELD.
#ifndef HF_LOCK_POSIX_SPIN_WORD_H
#define HF_LOCK_POSIX_SPIN_WORD_H

#include "spin_numbers.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

// Waits until the lock is taken: not critical when called, critical when it returns.
void hf_spin_wait(int *word, struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

static inline bool hf_spin_try_acquire(int *word, struct hf_thread_record *self) {
    hf_critical_enter_for(self, word);
    if (HF_LIKELY(hf_cas_acquire(word, HF_SPIN_FREE, HF_SPIN_HELD))) // pairs with hf_spin_release
        return true;
    hf_critical_leave(self);
    return false;
}

static inline void hf_spin_acquire(int *word, struct hf_thread_record *self) {
    if (HF_UNLIKELY(!hf_spin_try_acquire(word, self)))
        hf_spin_wait(word, self);
}

static inline void hf_spin_release(int *word, struct hf_thread_record *self) {
    hf_store_release(word, HF_SPIN_FREE);
    hf_critical_leave(self);
}

#ifdef __cplusplus
}
#endif

#endif
