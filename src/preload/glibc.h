// SPDX-License-Identifier: MIT OR Apache-2.0
// glibc's own functions, for what Holdfast passes on.
#ifndef HF_PRELOAD_GLIBC_H
#define HF_PRELOAD_GLIBC_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "preload/symbol_version.h" // which functions there are

#define HF_GLIBC_FUNCTION_AS(result, member, name, version, ...) result (*member)(__VA_ARGS__);
struct hf_glibc {
#include "preload/glibc_functions.def"
};
#undef HF_GLIBC_FUNCTION_AS

// Has the program ThreadSanitizer's runtime? It has to see every lock and unlock, or it reports races that are none. It
// comes after us, so "glibc's functions" are its own then, and everything is passed on to them.
bool hf_glibc_is_sanitized(void) __attribute__((cold));

// Found on first use, which may be before any constructor has run and on several threads at once.
const struct hf_glibc *hf_glibc(void) __attribute__((cold));

#endif
