// SPDX-License-Identifier: MIT OR Apache-2.0
// A library whose constructor uses reader-writer locks, and leaves one held, before Holdfast's constructor has run
// (rwlock_rule_test.cpp). It is linked to the program, so its constructor runs before that of a preloaded library,
// which nothing depends on.
#include <pthread.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern pthread_rwlock_t rwlock_rule_early_variable, rwlock_rule_early_made;
EXPORTED extern int rwlock_rule_early_errors;
EXPORTED int rwlock_rule_early_init(pthread_rwlock_t *lock);
EXPORTED const char *rwlock_rule_other_twice(void);

pthread_rwlock_t rwlock_rule_early_variable = PTHREAD_RWLOCK_INITIALIZER, rwlock_rule_early_made;
int rwlock_rule_early_errors;

// A variable as large as a lock that has the name of a lock in the program.
__attribute__((used, aligned(_Alignof(pthread_rwlock_t)))) static char rwlock_rule_twice[sizeof(pthread_rwlock_t)];

const char *rwlock_rule_other_twice(void) {
    return rwlock_rule_twice;
}

int rwlock_rule_early_init(pthread_rwlock_t *lock) {
    int error = pthread_rwlock_init(lock, NULL);
    __asm__ volatile(""); // not a tail call, which would return to the caller
    return error;
}

// Both are held from here on: the program gives them back.
__attribute__((constructor)) static void use_early(void) {
    rwlock_rule_early_errors |= pthread_rwlock_rdlock(&rwlock_rule_early_variable);
    rwlock_rule_early_errors |= rwlock_rule_early_init(&rwlock_rule_early_made);
    rwlock_rule_early_errors |= pthread_rwlock_wrlock(&rwlock_rule_early_made);
}
