// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_mutex_init, pthread_rwlock_init and pthread_spin_init: glibc's, which Holdfast's locks need no more than, a
// mark where the object is to stay glibc's (policy.h), and a note of who called (observe/creation_sites.h). A mutex or
// a reader-writer lock may have a rule for its caller (lock_rules.h). A lock of static storage needs none of them, and
// has a name; C++'s std::mutex calls none.
#include <pthread.h>

#include "observe/observation.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/lock_rules.h"
#include "preload/mutex.h"
#include "preload/policy.h"
#include "preload/rwlock_choice.h"
#include "preload/symbol_version.h"

int hf_mutex_init_for(pthread_mutex_t *posix, const pthread_mutexattr_t *attributes, const void *caller) {
    int error = hf_glibc()->mutex_init(posix, attributes);
    hf_disciplines_be_decided(); // and rules found
    if (!error)
        hf_lock_rules_mark(hf_mutex_in(posix), caller);
    hf_note_creation(posix, caller);
    return error;
}

static int interposed_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    return hf_mutex_init_for(mutex, attributes, __builtin_return_address(0));
}

static int interposed_rwlock_init(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attributes) {
    int error = hf_glibc()->rwlock_init(rwlock, attributes);
    if (!error && HF_UNLIKELY(hf_policy_leaves_new_objects_to_glibc()))
        hf_rwlock_in(rwlock)->shared = 1;
    if (!error)
        hf_rwlock_choose(hf_rwlock_in(rwlock), __builtin_return_address(0));
    hf_note_creation(rwlock, __builtin_return_address(0));
    return error;
}

static int interposed_spin_init(pthread_spinlock_t *spin, int shared) {
    int error = hf_glibc()->spin_init(spin, shared);
    hf_note_creation((const void *)spin, __builtin_return_address(0));
    return error;
}

HF_EXPORT(interposed_mutex_init, pthread_mutex_init, HF_GLIBC_FIRST);
HF_EXPORT(interposed_mutex_init, __pthread_mutex_init, HF_GLIBC_FIRST);
HF_EXPORT_TWICE(interposed_rwlock_init, pthread_rwlock_init, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT(interposed_rwlock_init, __pthread_rwlock_init, HF_GLIBC_FIRST);
HF_EXPORT_TWICE(interposed_spin_init, pthread_spin_init, HF_GLIBC_FIRST, "GLIBC_2.34");
