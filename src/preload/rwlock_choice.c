// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/rwlock_choice.h"

#include "base/check.h"
#include "preload/lock_rules.h"

static struct hf_rwlock_choice choices[1 + HF_RULES_MAX]; // of locks without a rule, and of those with rule 1, 2, ...

// Relaxed: who uses a choice has acquired the policy, which is stored after this (policy.c).
static void make(struct hf_rwlock_choice *choice, const struct hf_policy_value *value) {
    hf_store_relaxed(&choice->policy, (uint32_t)hf_policy_for(HF_OBJECT_RWLOCK, value));
    hf_store_relaxed(&choice->options.readers, value->parameters.read_share);
    hf_store_relaxed(&choice->options.writers, value->parameters.write_share);
    hf_store_relaxed(&choice->options.slice_us_plus_1, value->parameters.slice_us_plus_1);
}

bool hf_rwlock_choices_make(const struct hf_policy_text *text) {
    bool has_rules = false;
    make(&choices[0], &text->value[HF_OBJECT_RWLOCK]);
    for (unsigned i = 0; i < text->rules; i++) {
        if (text->rule[i].kind != HF_OBJECT_RWLOCK)
            continue;
        make(&choices[i + 1], &text->rule[i].value);
        has_rules = true;
    }
    return has_rules;
}

bool hf_rwlocks_may_be_sliced(void) {
    for (unsigned i = 0; i <= HF_RULES_MAX; i++) {
        if (hf_load_relaxed(&choices[i].policy) == HF_POLICY_SLICED)
            return true;
    }
    return false;
}

static uint32_t choose(struct hf_rwlock *rwlock, const void *caller) {
    uint32_t rule = HF_RWLOCK_MADE + hf_lock_rules_number(HF_OBJECT_RWLOCK, rwlock, caller);
    hf_store_relaxed(&rwlock->rule, rule); // relaxed: a number that each finds by itself
    return rule;
}

void hf_rwlock_choose(struct hf_rwlock *rwlock, const void *caller) {
    if (hf_policy_of(HF_OBJECT_RWLOCK) == HF_POLICY_BY_RULES && rwlock->shared == 0)
        choose(rwlock, caller);
}

const struct hf_rwlock_choice *hf_rwlock_choice_of(struct hf_rwlock *rwlock) {
    if (hf_policy_of(HF_OBJECT_RWLOCK) != HF_POLICY_BY_RULES)
        return &choices[0];
    uint32_t rule = hf_load_relaxed(&rwlock->rule);
    if (HF_UNLIKELY(rule == HF_RWLOCK_UNMADE))
        rule = choose(rwlock, NULL);
    HF_CHECK("rule", rule - HF_RWLOCK_MADE <= HF_RULES_MAX);
    return &choices[rule - HF_RWLOCK_MADE];
}
