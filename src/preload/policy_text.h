// SPDX-License-Identifier: MIT OR Apache-2.0
// What Holdfast does to which kind of object, as users write it: "mutex:flexguard,rwlock:glibc". Read by the interposer
// (HOLDFAST_CONF) and by the command (--conf).
#ifndef HF_PRELOAD_POLICY_TEXT_H
#define HF_PRELOAD_POLICY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

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

// The environment variables: the policy's text; and a lock's name, which is short for mutex:NAME.
#define HF_CONF_VARIABLE "HOLDFAST_CONF"
#define HF_LOCK_VARIABLE "HOLDFAST_LOCK"

// For each kind of object a lock's name or "glibc"; NULL where nothing was said. The strings live for ever.
struct hf_policy_text {
    const char *value[HF_OBJECTS];
};

// Adds what `text` says: pairs of kind:value, separated by commas; the last one of a kind counts. A mutex may be any
// lock of lock_list.def, "default" or "glibc"; the others are "flexguard", "default" or "glibc".
// Returns true; or false, with *policy as it was and a sentence in `complaint` that says what is wrong and what is
// known.
bool hf_policy_text_read(const char *text, struct hf_policy_text *policy, char *complaint, size_t complaint_bytes);

#ifdef __cplusplus
}
#endif

#endif
