// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy_decision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock_table.h"
#include "preload/lock_rules.h"
#include "preload/policy_table.h"
#include "preload/rwlock_options.h"
#include "preload/thread_checker.h"

static void read_variable(const char *name, const char *text, struct hf_policy_text *policy) {
    static bool complained;
    char complaint[512];
    if (!hf_policy_text_read(text, policy, complaint, sizeof(complaint)) && !hf_exchange_relaxed(&complained, true))
        fprintf(stderr, "holdfast: %s: %s\n", name, complaint);
}

// HOLDFAST_LOCK is a shorter way to say mutex:NAME; what HOLDFAST_CONF says of mutexes counts more.
static void read_environment(struct hf_policy_text *policy) {
    const char *lock = secure_getenv(HF_LOCK_VARIABLE);
    char pair[128];
    snprintf(pair, sizeof(pair), "mutex:%s", lock ? lock : "");
    if (lock)
        read_variable(HF_LOCK_VARIABLE, pair, policy);
    const char *conf = secure_getenv(HF_CONF_VARIABLE);
    if (conf)
        read_variable(HF_CONF_VARIABLE, conf, policy);
}

void hf_policy_read(struct hf_policy_text *policy) {
    memset(policy, 0, sizeof(*policy));
    for (int i = 0; i < HF_OBJECTS; i++)
        policy->value[i].lock = HF_DEFAULT_LOCK;
    read_environment(policy);
    if (!hf_has_thread_checker())
        return;
    for (int i = 0; i < HF_OBJECTS; i++)
        policy->value[i].lock = HF_PASSED_TO_GLIBC;
    policy->rules = 0;
}

// Threads that come here together all find the same, so each may store it.
void hf_policy_settle(const struct hf_policy_text *text) {
    // Acquire: pairs with the release of the thread that has stored the last one, so the others are seen too.
    if (hf_load_acquire(&hf_policies[HF_OBJECTS - 1]) != HF_POLICY_UNDECIDED)
        return;
    bool by_rules = hf_rwlock_choices_make(text);
    if (by_rules)
        hf_lock_rules_find(text); // a lock's first use is what it is chosen at
    for (int i = 0; i < HF_OBJECTS; i++) {
        enum hf_policy policy = hf_policy_for((enum hf_object)i, &text->value[i]);
        if (i == HF_OBJECT_RWLOCK && by_rules)
            policy = HF_POLICY_BY_RULES;
        // Unless it was left to glibc meanwhile (hf_policy_leave_objects_to_glibc). Release: pairs with the acquire in
        // hf_policy_of (policy.h).
        hf_cas_release(&hf_policies[i], HF_POLICY_UNDECIDED, policy);
    }
}

enum hf_policy hf_policy_decide(enum hf_object object) {
    struct hf_policy_text text;
    hf_policy_read(&text);
    hf_policy_settle(&text);
    return (enum hf_policy)hf_load_relaxed(&hf_policies[object]);
}
