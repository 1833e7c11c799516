// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel's own shared object in each process: clocks that need no system call, and that no preload stands before.
#ifndef HF_BASE_VDSO_H
#define HF_BASE_VDSO_H

#ifdef __cplusplus
extern "C" {
#endif

// The function of that name, or NULL: there is none, or no vDSO (valgrind hides it).
void *hf_vdso_function(const char *name) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
