// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/policy_table.h"

#include <string.h>

#include "preload/glibc_layout.h"

uint32_t hf_policies[HF_OBJECTS] = {[0 ... HF_OBJECTS - 1] = HF_POLICY_UNDECIDED};

enum hf_policy hf_policy_for(enum hf_object object, const struct hf_policy_value *value) {
    if (strcmp(value->lock, HF_PASSED_TO_GLIBC) == 0 || !hf_object_fits(object))
        return HF_POLICY_GLIBCS;
    return strcmp(value->lock, HF_RWSCL_NAME) == 0 ? HF_POLICY_SLICED : HF_POLICY_OURS;
}
