// SPDX-License-Identifier: MIT OR Apache-2.0
// Which lock each of the program's reader-writer locks is: what the policy says of all of them, or a rule of some
// ("rwlock@PLACE:LOCK", lock_rules.h). A lock must not change hands while it is in use. So, where there are rules, the
// lock itself says which one is its own, from its first use on, whichever function that is:
//
//     pthread_rwlock_init, by its caller or the lock's address
//     UNMADE ---------------------------------------------------+----> MADE + the rule's number (0: none) <--+
//     any other function, by the lock's address ----------------+        |                                   |
//                                                                        +--- pthread_rwlock_init, again ----+
//
// UNMADE is what glibc's initialisers leave there, static ones and pthread_rwlock_init. Threads that use a lock for the
// first time together find the same, since places never change once they are found: so each may store it. Nothing is
// written to a variable that only has the name of a place.
#ifndef HF_PRELOAD_RWLOCK_CHOICE_H
#define HF_PRELOAD_RWLOCK_CHOICE_H

#include "preload/policy.h"
#include "preload/rwlock_options.h"

enum hf_rwlock_rule {
    HF_RWLOCK_UNMADE = 0,
    HF_RWLOCK_MADE = 1,
};

// The lock has just been initialised, by a call that returns to `caller`.
void hf_rwlock_choose(struct hf_rwlock *rwlock, const void *caller);

// At the first use of the lock, if that is not its initialisation: returns what the lock says from now on.
uint32_t hf_rwlock_choose_by_address(struct hf_rwlock *rwlock) __attribute__((cold));

// Of a lock of this process alone. The same at each call.
static inline const struct hf_rwlock_choice *hf_rwlock_choice_of(struct hf_rwlock *rwlock) {
    if (hf_policy_of(HF_OBJECT_RWLOCK) != HF_POLICY_BY_RULES)
        return &hf_rwlock_choices[0];
    uint32_t rule = hf_load_relaxed(&rwlock->rule);
    if (HF_UNLIKELY(rule - HF_RWLOCK_MADE > HF_RULES_MAX)) // UNMADE, or what lay in memory that nobody initialised
        rule = hf_rwlock_choose_by_address(rwlock);
    return &hf_rwlock_choices[rule - HF_RWLOCK_MADE];
}

#endif
