// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_barrier_*, on lock/posix/barrier.h inside glibc's object (barrier_layout.h).
#include "preload/barrier_layout.h"

#include "preload/glibc.h"
#include "preload/policy.h"
#include "preload/symbol_version.h"

static bool is_ours(pthread_barrier_t *posix) {
    return hf_policy_is_ours(HF_OBJECT_BARRIER) && hf_barrier_in(posix)->shared == 0;
}

static int interposed_init(pthread_barrier_t *posix, const pthread_barrierattr_t *attributes, unsigned count) {
    int error = hf_glibc()->barrier_init(posix, attributes, count);
    if (!error && is_ours(posix))
        hf_barrier_in(posix)->spin_rounds = hf_spin_history_begin();
    return error;
}

static int interposed_wait(pthread_barrier_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->barrier_wait(posix);
    return hf_barrier_wait(hf_barrier_in(posix)) ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

static int interposed_destroy(pthread_barrier_t *posix) {
    if (!is_ours(posix))
        return hf_glibc()->barrier_destroy(posix);
    hf_barrier_destroy(hf_barrier_in(posix));
    return 0;
}

HF_EXPORT_TWICE(interposed_init, pthread_barrier_init, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_wait, pthread_barrier_wait, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_destroy, pthread_barrier_destroy, HF_GLIBC_FIRST, "GLIBC_2.34");
