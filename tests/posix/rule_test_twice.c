// SPDX-License-Identifier: MIT OR Apache-2.0
// A variable as large as a mutex that has the name of a mutex elsewhere in the program (rule_test.cpp).
#include <pthread.h>

__attribute__((used, aligned(_Alignof(pthread_mutex_t)))) static char rule_test_twice[sizeof(pthread_mutex_t)];

const char *rule_test_other_twice(void);

const char *rule_test_other_twice(void) {
    return rule_test_twice;
}
