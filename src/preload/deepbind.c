// SPDX-License-Identifier: MIT OR Apache-2.0
// Callers that reach glibc's mutex functions past ours, and so sleep without being counted (park/sleeper_counts.h):
//
//     a library loaded with RTLD_DEEPBIND, or into a namespace of its own     no unlock stores plainly any more; all
//                                                                             condition variables are glibc's, and new
//                                                                             reader-writer locks; barriers have its
//                                                                             words
//     a program that calls glibc's functions by their other names             __pthread_mutex_*: ours, too
//     one that asks dlsym for them by a handle of glibc's                     not seen (docs/interposer.md)
//
// dlopen and dlmopen look for libraries on their caller's behalf, by the address that they return to. So ours jump to
// them as their last act (-foptimize-sibling-calls).
#include <dlfcn.h>
#include <stdint.h>

#include "park/sleeper_counts.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

typedef void *(*open_function)(const char *, int);
typedef void *(*open_in_function)(Lmid_t, const char *, int);

static uintptr_t next(const char *name) {
    return (uintptr_t)dlsym(RTLD_NEXT, name);
}

static void some_calls_go_past_us(void) {
    hf_sleepers_may_be_uncounted();
    hf_policy_leave_objects_to_glibc();
}

static void *interposed_dlopen(const char *file, int mode) {
    if (mode & RTLD_DEEPBIND)
        some_calls_go_past_us();
    open_function glibcs = (open_function)next("dlopen"); // NOLINT(performance-no-int-to-ptr): POSIX's way
    return glibcs(file, mode);
}

static void *interposed_dlmopen(Lmid_t namespace, const char *file, int mode) {
    if (namespace != LM_ID_BASE || (mode & RTLD_DEEPBIND))
        some_calls_go_past_us();
    open_in_function glibcs = (open_in_function)next("dlmopen"); // NOLINT(performance-no-int-to-ptr): the same
    return glibcs(namespace, file, mode);
}

HF_EXPORT_TWICE(interposed_dlopen, dlopen, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_dlmopen, dlmopen, HF_GLIBC_2_3_4, "GLIBC_2.34");
