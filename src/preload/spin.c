// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_spin_*, on lock/posix/spin_word.h.
#include <errno.h>
#include <pthread.h>

#include "lock/posix/spin_word.h"
#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

// The usual case is written out where it calls nothing but as its last act, and so needs no frame: a spinlock is taken
// and given back in a few instructions.
static inline bool is_usual(const struct hf_thread_record *self) {
    return HF_LIKELY(hf_load_relaxed(&hf_policies[HF_OBJECT_SPIN]) == HF_POLICY_OURS && self);
}

static __attribute__((noinline)) int lock_after_all(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_lock(word);
    hf_spin_acquire((int *)word, hf_self());
    return 0;
}

static int interposed_lock(pthread_spinlock_t *word) {
    struct hf_thread_record *self = hf_self_record;
    return is_usual(self) && HF_LIKELY(hf_spin_try_acquire((int *)word, self)) ? 0 : lock_after_all(word);
}

static int interposed_trylock(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_trylock(word);
    return hf_spin_try_acquire((int *)word, hf_self()) ? 0 : EBUSY;
}

static __attribute__((noinline)) int unlock_after_all(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_unlock(word);
    hf_spin_release((int *)word, hf_self());
    return 0;
}

static int interposed_unlock(pthread_spinlock_t *word) {
    struct hf_thread_record *self = hf_self_record;
    if (!is_usual(self))
        return unlock_after_all(word);
    hf_spin_release((int *)word, self);
    return 0;
}

HF_EXPORT_TWICE(interposed_lock, pthread_spin_lock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_trylock, pthread_spin_trylock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_unlock, pthread_spin_unlock, HF_GLIBC_FIRST, "GLIBC_2.34");
