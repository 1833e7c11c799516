// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/glibc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"

#define COND_VERSION "GLIBC_2.3.2"

static struct hf_glibc found;
static bool complete;

// By version: without one dlsym may answer with a condition variable of before 2.3.2, which has another layout.
// clocklock and clockwait are younger than glibc 2.30; a program that runs on an older one can't call them.
static void *symbol(const char *name, const char *version) {
    void *address = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return address ? address : dlsym(RTLD_NEXT, name);
}

static void find(void) {
    struct hf_glibc in = {0};
    *(void **)&in.mutex_lock = symbol("pthread_mutex_lock", NULL);
    *(void **)&in.mutex_trylock = symbol("pthread_mutex_trylock", NULL);
    *(void **)&in.mutex_timedlock = symbol("pthread_mutex_timedlock", NULL);
    *(void **)&in.mutex_clocklock = symbol("pthread_mutex_clocklock", NULL);
    *(void **)&in.mutex_unlock = symbol("pthread_mutex_unlock", NULL);
    *(void **)&in.cond_wait = symbol("pthread_cond_wait", COND_VERSION);
    *(void **)&in.cond_timedwait = symbol("pthread_cond_timedwait", COND_VERSION);
    *(void **)&in.cond_clockwait = symbol("pthread_cond_clockwait", NULL);
    if (!in.mutex_lock || !in.mutex_unlock || !in.cond_wait) {
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
