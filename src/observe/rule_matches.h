// SPDX-License-Identifier: MIT OR Apache-2.0
// How many locks each of the rules for single locks matched ("mutex@db_lock:u-scl", preload/lock_rules.h), so that a
// user who has misspelt one learns it. Counted when a lock's rule is decided, not when it is taken.
//
// A lock may be used before there is memory for statistics: what is counted by then is kept here, and moved when there
// is. A forked child begins at nothing: its parent has counted the locks that it inherits.
#ifndef HF_OBSERVE_RULE_MATCHES_H
#define HF_OBSERVE_RULE_MATCHES_H

#ifdef __cplusplus
extern "C" {
#endif

// Rules are numbered from 0 to HF_STATISTICS_RULES - 1. What is too long of the name is left out.
void hf_note_rule(unsigned rule, const char *name) __attribute__((cold, visibility("hidden")));

// The rule applies to one lock more.
void hf_note_rule_match(unsigned rule) __attribute__((cold, visibility("hidden")));

// There is memory (noting_memory.h) from now on.
void hf_rule_matches_begin(void) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
