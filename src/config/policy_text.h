// SPDX-License-Identifier: MIT OR Apache-2.0
// What Holdfast does to which kind of object, as users write it: "mutex:u-scl(slice=2ms),rwlock:glibc". Read by the
// interposer (HOLDFAST_CONF) and by the command (--conf).
#ifndef HF_CONFIG_POLICY_TEXT_H
#define HF_CONFIG_POLICY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "config/lock_parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_object {
    HF_OBJECT_MUTEX,
    HF_OBJECT_COND,
    HF_OBJECT_RWLOCK,
    HF_OBJECT_SPIN,
    HF_OBJECT_BARRIER,
    HF_OBJECTS,
};

#define HF_PASSED_TO_GLIBC "glibc"
#define HF_RWSCL_NAME "rwscl" // no mutex, so not in lock_list.def

// The environment variables: the policy's text; and a lock's name, which is short for mutex:NAME.
#define HF_CONF_VARIABLE "HOLDFAST_CONF"
#define HF_LOCK_VARIABLE "HOLDFAST_LOCK"

// The lock that a user means by that name: "uscl" for "u-scl", or `name` itself.
const char *hf_lock_name_meant(const char *name);

// What is said of a kind of object, or of some of the kind.
struct hf_policy_value {
    const char *lock; // a lock's name or "glibc", which live for ever; NULL: nothing was said
    struct hf_lock_parameters parameters;
};

enum { HF_RULES_MAX = 15, HF_PLACE_BYTES = 128 };

// What is said of the mutexes or reader-writer locks at one place: a symbol or library (preload/lock_rules.h).
struct hf_policy_rule {
    enum hf_object kind;
    char place[HF_PLACE_BYTES];
    struct hf_policy_value value;
};

struct hf_policy_text {
    struct hf_policy_value value[HF_OBJECTS];
    struct hf_policy_rule rule[HF_RULES_MAX];
    unsigned rules;
};

// Adds what `text` says: pairs of kind:lock, mutex@place:lock or rwlock@place:lock, separated by commas, each lock with
// parameters in parentheses behind it or not; the last one of a kind, or of a kind and place, counts. A mutex may be
// any lock of lock_list.def, "default" or "glibc"; the others are "flexguard", "default" or "glibc", and a rwlock may
// be "rwscl". Returns true; or false, with *policy as it was and a sentence in `complaint` that says what is wrong and
// what is known.
bool hf_policy_text_read(const char *text, struct hf_policy_text *policy, char *complaint, size_t complaint_bytes);

// What a rule applies to, as it is written: "mutex@db_lock".
enum { HF_RULE_NAME_BYTES = HF_PLACE_BYTES + 8 };
void hf_policy_rule_name(const struct hf_policy_rule *rule, char name[HF_RULE_NAME_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
