// SPDX-License-Identifier: MIT OR Apache-2.0
// What the policy says of reader-writer locks: of those without a rule, and of those with rule 1, 2, ... Which rule a
// lock has is in rwlock_choice.h.
#ifndef HF_PRELOAD_RWLOCK_OPTIONS_H
#define HF_PRELOAD_RWLOCK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/policy_text.h"
#include "preload/rwlock_layout.h"

struct hf_rwlock_choice {
    uint32_t policy;                 // enum hf_policy: OURS, SLICED or GLIBCS
    struct hf_rwscl_options options; // of SLICED
};

extern struct hf_rwlock_choice hf_rwlock_choices[1 + HF_RULES_MAX] __attribute__((visibility("hidden")));

// The same at each call; before the policy of reader-writer locks is stored. Says whether there are rules for
// them.
bool hf_rwlock_choices_make(const struct hf_policy_text *text) __attribute__((cold));

// Is any of the choices SLICED?
bool hf_rwlocks_may_be_sliced(void);

#endif
