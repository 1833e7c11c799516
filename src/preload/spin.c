// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_spin_*, on lock/spin_word.h.
#include <errno.h>
#include <pthread.h>

#include "lock/spin_word.h"
#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

static int interposed_lock(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_lock(word);
    hf_spin_acquire((int *)word, hf_self());
    return 0;
}

static int interposed_trylock(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_trylock(word);
    return hf_spin_try_acquire((int *)word, hf_self()) ? 0 : EBUSY;
}

static int interposed_unlock(pthread_spinlock_t *word) {
    if (!hf_policy_is_ours(HF_OBJECT_SPIN))
        return hf_glibc()->spin_unlock(word);
    hf_spin_release((int *)word, hf_self());
    return 0;
}

HF_EXPORT_TWICE(interposed_lock, pthread_spin_lock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_trylock, pthread_spin_trylock, "GLIBC_2.2.5", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_unlock, pthread_spin_unlock, "GLIBC_2.2.5", "GLIBC_2.34");
