// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/rwlock_choice.h"

#include "preload/lock_rules.h"

static uint32_t choose(struct hf_rwlock *rwlock, const void *caller) {
    uint32_t rule = HF_RWLOCK_MADE + hf_lock_rules_number(HF_OBJECT_RWLOCK, rwlock, caller);
    hf_store_relaxed(&rwlock->rule, rule); // relaxed: a number that each finds by itself
    return rule;
}

void hf_rwlock_choose(struct hf_rwlock *rwlock, const void *caller) {
    if (hf_policy_of(HF_OBJECT_RWLOCK) == HF_POLICY_BY_RULES && rwlock->shared == 0)
        choose(rwlock, caller);
}

uint32_t hf_rwlock_choose_by_address(struct hf_rwlock *rwlock) {
    return choose(rwlock, NULL);
}
