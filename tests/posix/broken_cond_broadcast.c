// SPDX-License-Identifier: MIT OR Apache-2.0
// Broken on purpose, for the soak to find: a broadcast that wakes one waiter only.
#include <pthread.h>

int pthread_cond_broadcast(pthread_cond_t *cond) {
    return pthread_cond_signal(cond);
}
