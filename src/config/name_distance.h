// SPDX-License-Identifier: MIT OR Apache-2.0
// The known name that a mistyped one is most like.
#ifndef HF_CONFIG_NAME_DISTANCE_H
#define HF_CONFIG_NAME_DISTANCE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_nearest_name {
    const char *word; // what was given, not ended by a zero
    size_t length;
    const char *name; // of those that were tried, the one most like it; NULL: none is like it
    size_t distance;  // of that one
};

// What is like it at all: a letter in three or fewer differ, two neighbours that changed places count once, and a
// beginning of three letters or more is like the whole name.
struct hf_nearest_name hf_nearest_name_to(const char *word, size_t length);
void hf_nearest_name_try(struct hf_nearest_name *nearest, const char *name);

// "did you mean 'NAME'? ", or "".
void hf_nearest_name_tell(const struct hf_nearest_name *nearest, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
