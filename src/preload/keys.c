// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_key_create and C11's tss_create: glibc's. Holdfast has one of the PTHREAD_KEYS_MAX keys itself
// (thread/thread_record.c), and gives it to a program that wants them all.
#include <pthread.h>
#include <threads.h>

#include "preload/glibc.h"
#include "preload/symbol_version.h"
#include "thread/thread_record.h"

static int interposed_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    int error = hf_glibc()->key_create(key, destructor);
    return error && hf_thread_give_up_exit_key() ? hf_glibc()->key_create(key, destructor) : error;
}

static int interposed_tss_create(tss_t *key, tss_dtor_t destructor) {
    return interposed_key_create(key, destructor) ? thrd_error : thrd_success;
}

HF_EXPORT_TWICE(interposed_key_create, pthread_key_create, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_key_create, __pthread_key_create, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_tss_create, tss_create, "GLIBC_2.28", "GLIBC_2.34");
