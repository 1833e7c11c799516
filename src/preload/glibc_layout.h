// SPDX-License-Identifier: MIT OR Apache-2.0
// Does the C library that runs lay its objects out so that Holdfast's fit in? Releases differ, and distributions carry
// patches of later ones under the old number: so nobody is asked which release it is. Its own functions make an object
// of each kind with each attribute, and the object is looked at (docs/interposer.md has the table).
//
// An object that does not pass is the C library's, and so are all of its kind.
#ifndef HF_PRELOAD_GLIBC_LAYOUT_H
#define HF_PRELOAD_GLIBC_LAYOUT_H

#include <pthread.h>
#include <stdbool.h>

#include "config/policy_text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_MAKER(result, name, ...) result (*name)(__VA_ARGS__);
struct hf_makers {
#include "preload/object_makers.def"
};
#undef HF_MAKER

// Are objects of that kind, as these make them, laid out so that ours fit in? Not if one of these is NULL.
bool hf_layout_fits(enum hf_object object, const struct hf_makers *makers) __attribute__((cold, visibility("hidden")));

// The same of the C library that runs; found out once. Calls its own functions only, never another preload's, which
// may use objects itself: those would be decided by the answer.
bool hf_object_fits(enum hf_object object) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
