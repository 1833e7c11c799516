// SPDX-License-Identifier: MIT OR Apache-2.0
// Rules for single mutexes: "mutex@PLACE:LOCK". A mutex's rule is a number in its own kind (mutex_layout.h), so there
// is no table of mutexes, and those without a rule cost nothing more. The place says which mutexes:
//
//     a variable ("db_lock", "db+16")      the mutex that lies there
//     a function ("open_db")               every mutex that a call of pthread_mutex_init in there makes
//     a library ("libdb.so")               the same for all of its code
//
// Looked up once, when the interposer is loaded: what dlopen brings later is not found.
#ifndef HF_PRELOAD_LOCK_RULES_H
#define HF_PRELOAD_LOCK_RULES_H

#include "preload/mutex_layout.h"
#include "preload/policy_text.h"

// Marks the variables among the places, and remembers the code. Rule i is number i + 1.
void hf_lock_rules_find(const struct hf_policy_text *policy) __attribute__((cold));

// The mutex has just been initialised, by a call that returns to `caller`.
void hf_lock_rules_mark(struct hf_mutex *mutex, const void *caller);

#endif
