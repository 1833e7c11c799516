// SPDX-License-Identifier: MIT OR Apache-2.0
// The condition variables of before glibc 2.3.2, on x86-64: another object under the same names, in which glibc keeps a
// pointer to one that it allocates. Programs of 2003 have them, and libraries that were linked without libc, whose
// references have no version. They stay glibc's; a wait is told of, as one on each that is glibc's (shared_cond.h). All
// six lead here, since a reference without a version takes the first of a library's that fits: with some of them here
// and the others under 2.3.2 it would get functions of both kinds for one object.
#include "preload/glibc.h"
#include "preload/shared_cond.h"
#include "preload/symbol_version.h"

static int old_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
    return hf_glibc()->old_cond_init(cond, attributes);
}

static int old_destroy(pthread_cond_t *cond) {
    return hf_glibc()->old_cond_destroy(cond);
}

static int old_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    return hf_wait_by_glibcs(hf_glibc()->old_cond_wait, cond, mutex);
}

static int old_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    return hf_timedwait_by_glibcs(hf_glibc()->old_cond_timedwait, cond, mutex, at);
}

static int old_signal(pthread_cond_t *cond) {
    return hf_glibc()->old_cond_signal(cond);
}

static int old_broadcast(pthread_cond_t *cond) {
    return hf_glibc()->old_cond_broadcast(cond);
}

HF_EXPORT_OLDER(old_init, pthread_cond_init, HF_GLIBC_FIRST);
HF_EXPORT_OLDER(old_destroy, pthread_cond_destroy, HF_GLIBC_FIRST);
HF_EXPORT_OLDER(old_wait, pthread_cond_wait, HF_GLIBC_FIRST);
HF_EXPORT_OLDER(old_timedwait, pthread_cond_timedwait, HF_GLIBC_FIRST);
HF_EXPORT_OLDER(old_signal, pthread_cond_signal, HF_GLIBC_FIRST);
HF_EXPORT_OLDER(old_broadcast, pthread_cond_broadcast, HF_GLIBC_FIRST);
