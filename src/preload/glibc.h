// SPDX-License-Identifier: MIT OR Apache-2.0
// glibc's own functions, for what Holdfast passes on.
#ifndef HF_PRELOAD_GLIBC_H
#define HF_PRELOAD_GLIBC_H

#include <pthread.h>
#include <time.h>

#define HF_GLIBC_FUNCTION(result, name, version, ...) result (*name)(__VA_ARGS__);
struct hf_glibc {
#include "preload/glibc_functions.def"
};
#undef HF_GLIBC_FUNCTION

// Found on first use, which may be before any constructor has run and on several threads at once.
const struct hf_glibc *hf_glibc(void) __attribute__((cold));

#endif
