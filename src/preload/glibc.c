// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/glibc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "preload/symbol_version.h"

static struct hf_glibc found;
static bool complete;

extern void __tsan_init(void) __attribute__((weak)); // NOLINT(clang-diagnostic-reserved-identifier): its name

bool hf_glibc_is_sanitized(void) {
    return __tsan_init != NULL;
}

static void *symbol(const char *name, const char *version) {
    void *address = version && !hf_glibc_is_sanitized() ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return address ? address : dlsym(RTLD_NEXT, name);
}

// The clock variants are younger than glibc 2.30; a program that runs on an older one can't call them.
static void find(void) {
    struct hf_glibc in = {0};
#define HF_GLIBC_FUNCTION_AS(result, member, name, version, ...)                                                       \
    *(void **)&in.member = symbol("pthread_" #name, version);
#include "preload/glibc_functions.def"
#undef HF_GLIBC_FUNCTION_AS
    if (!in.mutex_lock || !in.mutex_unlock || !in.cond_wait || !in.rwlock_unlock || !in.barrier_wait) {
        fprintf(stderr, "holdfast: glibc's pthread functions are not found: run the program without holdfast\n");
        abort();
    }
    // Threads that come here together all find the same, so each may store it.
    found = in;
    hf_store_release(&complete, true);
}

const struct hf_glibc *hf_glibc(void) {
    if (!hf_load_acquire(&complete))
        find();
    return &found;
}
