// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/rwlock_options.h"

#include "preload/policy_table.h"

struct hf_rwlock_choice hf_rwlock_choices[1 + HF_RULES_MAX];

// Relaxed: a thread that uses a choice has acquired the policy, which is stored after this (policy_decision.h).
static void make(struct hf_rwlock_choice *choice, const struct hf_policy_value *value) {
    hf_store_relaxed(&choice->policy, (uint32_t)hf_policy_for(HF_OBJECT_RWLOCK, value));
    hf_store_relaxed(&choice->options.readers, value->parameters.read_share);
    hf_store_relaxed(&choice->options.writers, value->parameters.write_share);
    hf_store_relaxed(&choice->options.slice_us_plus_1, value->parameters.slice_us_plus_1);
}

bool hf_rwlock_choices_make(const struct hf_policy_text *text) {
    bool has_rules = false;
    make(&hf_rwlock_choices[0], &text->value[HF_OBJECT_RWLOCK]);
    for (unsigned i = 0; i < text->rules; i++) {
        if (text->rule[i].kind != HF_OBJECT_RWLOCK)
            continue;
        make(&hf_rwlock_choices[i + 1], &text->rule[i].value);
        has_rules = true;
    }
    return has_rules;
}

bool hf_rwlocks_may_be_sliced(void) {
    for (unsigned i = 0; i <= HF_RULES_MAX; i++) {
        if (hf_load_relaxed(&hf_rwlock_choices[i].policy) == HF_POLICY_SLICED)
            return true;
    }
    return false;
}
