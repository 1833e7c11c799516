// SPDX-License-Identifier: MIT OR Apache-2.0
// The objects that a case's threads wait for, and what takes them and gives them back.
#pragma once

#include <pthread.h>
#include <threads.h>

namespace holdfast::test {

struct objects {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_cond_t shared_cond;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_spinlock_t spin;
    mtx_t mtx;
    cnd_t cnd;

    objects() {
        pthread_condattr_t shared;
        pthread_condattr_init(&shared);
        pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_cond_init(&shared_cond, &shared);
        pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
        mtx_init(&mtx, mtx_plain);
        cnd_init(&cnd);
    }
};

inline void nothing(objects &) {}
inline void lock_mutex(objects &o) {
    pthread_mutex_lock(&o.mutex);
}
inline void unlock_mutex(objects &o) {
    pthread_mutex_unlock(&o.mutex);
}
inline void lock_mtx(objects &o) {
    mtx_lock(&o.mtx);
}
inline void unlock_mtx(objects &o) {
    mtx_unlock(&o.mtx);
}
inline void lock_to_read(objects &o) {
    pthread_rwlock_rdlock(&o.rwlock);
    pthread_rwlock_rdlock(&o.writers_first);
}
inline void lock_to_write(objects &o) {
    pthread_rwlock_wrlock(&o.rwlock);
    pthread_rwlock_wrlock(&o.writers_first);
}
inline void unlock_rwlocks(objects &o) {
    pthread_rwlock_unlock(&o.rwlock);
    pthread_rwlock_unlock(&o.writers_first);
}

} // namespace holdfast::test
