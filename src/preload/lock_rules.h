// SPDX-License-Identifier: MIT OR Apache-2.0
// Rules for single mutexes and reader-writer locks: "mutex@PLACE:LOCK", "rwlock@PLACE:LOCK". A lock's rule is a number
// in the lock itself (mutex_layout.h, rwlock_layout.h), so there is no table of locks, and those without a rule cost
// nothing more. The place says which locks:
//
//     a variable ("db_lock", "db+16")      the lock that lies there
//     a function ("open_db")               every lock that a call of pthread_mutex_init or _rwlock_init in there makes
//     a library ("libdb.so")               the same for all of its code
//
// Looked up once, when the interposer is loaded or first needs them: what dlopen brings later is not found.
//
// A mutex among the variables gets its number before any mutex is locked (lock_choice.h), a reader-writer lock at its
// first use (rwlock_choice.h).
#ifndef HF_PRELOAD_LOCK_RULES_H
#define HF_PRELOAD_LOCK_RULES_H

#include "config/policy_text.h"

struct hf_mutex;

// Finds the places of all rules, unless that is done. Threads that come here together find the same.
void hf_lock_rules_find(const struct hf_policy_text *policy) __attribute__((cold));

// Names the rules in the process's statistics, where it is counted what they match (observe/rule_matches.h).
void hf_lock_rules_note(const struct hf_policy_text *policy) __attribute__((cold));

// The number of the rule for a lock of that kind which lies there, or has just been initialised by a call that returns
// to `caller` (NULL: by none), which counts as matched by it. Rule i is number i + 1; 0: there is none, or places have
// not been found yet.
unsigned hf_lock_rules_number(enum hf_object kind, const void *lock, const void *caller);

// Gives the variables among the places their numbers, as far as they can only be mutexes.
void hf_lock_rules_mark_variables(void) __attribute__((cold));

// The mutex has just been initialised, by a call that returns to `caller`.
void hf_lock_rules_mark(struct hf_mutex *mutex, const void *caller);

#endif
