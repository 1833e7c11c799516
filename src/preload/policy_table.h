// SPDX-License-Identifier: MIT OR Apache-2.0
// What has been decided of each kind of object (policy.h): the table, and what a value of HOLDFAST_CONF says.
#ifndef HF_PRELOAD_POLICY_TABLE_H
#define HF_PRELOAD_POLICY_TABLE_H

#include <stdint.h>

#include "config/policy_text.h"

enum hf_policy {
    HF_POLICY_OURS = 0, // so that one look at policy and attributes tells the usual case
    HF_POLICY_UNDECIDED,
    HF_POLICY_SLICED,
    HF_POLICY_BY_RULES,
    HF_POLICY_LEFT_ONE_BY_ONE,
    HF_POLICY_GLIBCS,
};

extern uint32_t hf_policies[HF_OBJECTS] __attribute__((visibility("hidden")));

// What a value says of objects of that kind: OURS, SLICED or GLIBCS.
enum hf_policy hf_policy_for(enum hf_object object, const struct hf_policy_value *value) __attribute__((cold));

#endif
