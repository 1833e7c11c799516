// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy.h"

#include "lock/posix/condition.h"
#include "observe/observation.h"

static bool new_ones_are_glibcs;

void hf_policy_leave_objects_to_glibc(void) {
    if (!hf_exchange_relaxed(&new_ones_are_glibcs, true))
        hf_note_binding_apart();
    enum hf_policy before = hf_policy_of(HF_OBJECT_COND);
    if (before != HF_POLICY_OURS && before != HF_POLICY_LEFT_ONE_BY_ONE)
        return;
    // First, so that nobody signals by ours alone to one who was refused and waits by glibc's functions: a thread that
    // has had the mutex from that one sees this.
    hf_store_relaxed(&hf_policies[HF_OBJECT_COND], HF_POLICY_LEFT_ONE_BY_ONE);
    hf_conditions_close();
    // Release: pairs with the acquire in cond.c's is_ours. Where it is seen all of them are zero.
    hf_store_release(&hf_policies[HF_OBJECT_COND], HF_POLICY_GLIBCS);
}

bool hf_policy_leaves_new_objects_to_glibc(void) {
    return hf_load_relaxed(&new_ones_are_glibcs);
}
