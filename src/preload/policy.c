// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy.h"

#include "observe/observation.h"

uint32_t hf_policies[HF_OBJECTS] = {[0 ... HF_OBJECTS - 1] = HF_POLICY_UNDECIDED};

static bool new_ones_are_glibcs;

void hf_policy_leave_new_objects_to_glibc(void) {
    if (!hf_exchange_relaxed(&new_ones_are_glibcs, true))
        hf_note_binding_apart();
}

bool hf_policy_leaves_new_objects_to_glibc(void) {
    return hf_load_relaxed(&new_ones_are_glibcs);
}
