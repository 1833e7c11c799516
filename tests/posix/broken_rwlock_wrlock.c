// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a writer that only reads.
#include <pthread.h>

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    return pthread_rwlock_rdlock(lock);
}
