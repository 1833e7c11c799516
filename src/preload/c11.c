// SPDX-License-Identifier: MIT OR Apache-2.0
// C11's mtx_* and cnd_*: pthread_mutex_t and pthread_cond_t by other names, as in glibc, whose own functions reach its
// pthread_* past the interposer. cnd_init and cnd_destroy are glibc's, as pthread_cond_init and _destroy are.
#include <errno.h>
#include <threads.h>

#include "preload/cond.h"
#include "preload/mutex.h"
#include "preload/symbol_version.h"

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t), "one by two names");

static inline pthread_mutex_t *mutex_in(mtx_t *mutex) {
    return (pthread_mutex_t *)mutex;
}

static inline pthread_cond_t *cond_in(cnd_t *cond) {
    return (pthread_cond_t *)cond;
}

static inline int told_as_c11(int error) {
    switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
    }
}

static int interposed_mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    // A type that C11 does not know makes a plain one, as in glibc.
    if (type == (mtx_plain | mtx_recursive) || type == (mtx_timed | mtx_recursive))
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int error = hf_mutex_init_for(mutex_in(mutex), &attributes, __builtin_return_address(0));
    pthread_mutexattr_destroy(&attributes);
    return told_as_c11(error);
}

static int interposed_mtx_lock(mtx_t *mutex) {
    return told_as_c11(hf_mutex_lock(mutex_in(mutex)));
}

static int interposed_mtx_trylock(mtx_t *mutex) {
    return told_as_c11(hf_mutex_trylock(mutex_in(mutex)));
}

static int interposed_mtx_timedlock(mtx_t *mutex, const struct timespec *at) {
    return told_as_c11(hf_mutex_timedlock(mutex_in(mutex), at));
}

static int interposed_mtx_unlock(mtx_t *mutex) {
    return told_as_c11(hf_mutex_unlock(mutex_in(mutex)));
}

static void interposed_mtx_destroy(mtx_t *mutex) {
    hf_mutex_destroy(mutex_in(mutex));
}

static int interposed_cnd_wait(cnd_t *cond, mtx_t *mutex) {
    return told_as_c11(hf_cond_wait(cond_in(cond), mutex_in(mutex)));
}

static int interposed_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *at) {
    return told_as_c11(hf_cond_timedwait(cond_in(cond), mutex_in(mutex), at));
}

static int interposed_cnd_signal(cnd_t *cond) {
    return told_as_c11(hf_cond_signal(cond_in(cond)));
}

static int interposed_cnd_broadcast(cnd_t *cond) {
    return told_as_c11(hf_cond_broadcast(cond_in(cond)));
}

HF_EXPORT_TWICE(interposed_cnd_broadcast, cnd_broadcast, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_cnd_signal, cnd_signal, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_cnd_timedwait, cnd_timedwait, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_cnd_wait, cnd_wait, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_destroy, mtx_destroy, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_init, mtx_init, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_lock, mtx_lock, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_timedlock, mtx_timedlock, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_trylock, mtx_trylock, "GLIBC_2.28", "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_mtx_unlock, mtx_unlock, "GLIBC_2.28", "GLIBC_2.34");
