// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock_table.h"
#include "preload/barrier_layout.h"
#include "preload/cond_layout.h"
#include "preload/glibc.h"

uint32_t hf_policies[HF_OBJECTS] = {[0 ... HF_OBJECTS - 1] = HF_POLICY_UNDECIDED};

static const char *mutex_lock;

static void read_variable(const char *name, const char *text, struct hf_policy_text *policy) {
    static bool complained;
    char complaint[512];
    if (!hf_policy_text_read(text, policy, complaint, sizeof(complaint)) && !hf_exchange_relaxed(&complained, true))
        fprintf(stderr, "holdfast: %s: %s\n", name, complaint);
}

// HOLDFAST_LOCK is a shorter way to say mutex:NAME; what HOLDFAST_CONF says of mutexes counts more.
static void read_environment(struct hf_policy_text *policy) {
    const char *lock = secure_getenv(HF_LOCK_VARIABLE);
    char pair[64];
    snprintf(pair, sizeof(pair), "mutex:%s", lock ? lock : "");
    if (lock)
        read_variable(HF_LOCK_VARIABLE, pair, policy);
    const char *conf = secure_getenv(HF_CONF_VARIABLE);
    if (conf)
        read_variable(HF_CONF_VARIABLE, conf, policy);
}

// A glibc that lays an object out in another way than the one that we know keeps all objects of that kind.
static bool is_laid_out_as_known(enum hf_object object) {
    switch (object) {
    case HF_OBJECT_COND: return hf_cond_is_laid_out_as_known();
    case HF_OBJECT_BARRIER: return hf_barrier_is_laid_out_as_known();
    default: return true;
    }
}

// Threads that come here together all find the same, so each may store it.
bool hf_policy_decide(enum hf_object object) {
    struct hf_policy_text text = {.value = {[0 ... HF_OBJECTS - 1] = HF_DEFAULT_LOCK}};
    read_environment(&text);
    for (int i = 0; i < HF_OBJECTS && hf_glibc_is_sanitized(); i++)
        text.value[i] = HF_PASSED_TO_GLIBC;
    hf_store_relaxed(&mutex_lock, text.value[HF_OBJECT_MUTEX]);
    for (int i = 0; i < HF_OBJECTS; i++) {
        bool passed_on = strcmp(text.value[i], HF_PASSED_TO_GLIBC) == 0;
        bool ours = !passed_on && is_laid_out_as_known((enum hf_object)i);
        // Release: who reads it and then mutex_lock finds that one.
        hf_store_release(&hf_policies[i], ours ? HF_POLICY_OURS : HF_POLICY_GLIBCS);
    }
    return hf_policies[object] == HF_POLICY_OURS;
}

const char *hf_policy_mutex_lock(void) {
    if (hf_load_acquire(&hf_policies[HF_OBJECT_MUTEX]) == HF_POLICY_UNDECIDED)
        hf_policy_decide(HF_OBJECT_MUTEX);
    return hf_load_relaxed(&mutex_lock);
}
