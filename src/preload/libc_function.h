// SPDX-License-Identifier: MIT OR Apache-2.0
// The C library's own functions, past everything that was preloaded or that the program defines.
#ifndef HF_PRELOAD_LIBC_FUNCTION_H
#define HF_PRELOAD_LIBC_FUNCTION_H

#ifdef __cplusplus
extern "C" {
#endif

// The function that a program linked today would get from libc.so.6 alone; NULL if there is none. Calls nothing and
// takes no lock: what it reads, the dynamic linker has written before it runs anybody's code.
void *hf_libc_function(const char *name) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
