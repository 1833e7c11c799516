// SPDX-License-Identifier: MIT OR Apache-2.0
// How the policy comes about: the environment is read once, each kind of object is decided, and rules of single
// reader-writer locks are found before any of them is used.
#ifndef HF_PRELOAD_POLICY_DECISION_H
#define HF_PRELOAD_POLICY_DECISION_H

#include "config/policy_text.h"
#include "preload/policy_table.h"

// What the environment says, with the defaults where it says nothing.
void hf_policy_read(struct hf_policy_text *policy);

// For all objects, unless that is done.
void hf_policy_settle(const struct hf_policy_text *text);

// Both, and what came of it for one of them.
enum hf_policy hf_policy_decide(enum hf_object object) __attribute__((cold));

#endif
