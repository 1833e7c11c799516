// SPDX-License-Identifier: MIT OR Apache-2.0
// Which objects are Holdfast's and which are passed to glibc; decided once, from HOLDFAST_CONF.
//
//     UNDECIDED -----------------> OURS
//                        |
//                        +-------> SLICED: a reader-writer lock that is RW-SCL (sliced_rwlock.h)
//                        |
//                        +-------> BY_RULES: each reader-writer lock one of the others (rwlock_choice.h)
//                        |
//                        +-------> GLIBCS
//
//     OURS --> LEFT_ONE_BY_ONE --> GLIBCS: condition variables, before a library comes that is bound to glibc
//     (deepbind.c)
//
// By our constructor, since the program may clear its environment; at the first use if that comes before, since an
// object must not change hands while it is in use, and constructors that run before ours use them. What lock a mutex
// is says lock_choice.h. policy_table.h has what was decided, policy_decision.h decides; here is what the objects ask.
#ifndef HF_PRELOAD_POLICY_H
#define HF_PRELOAD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "preload/policy_decision.h"
#include "preload/policy_table.h"

static inline enum hf_policy hf_policy_of(enum hf_object object) {
    // Acquire: pairs with the release of the thread that has decided, after what the policy is to be done with.
    uint32_t policy = hf_load_acquire(&hf_policies[object]);
    return HF_LIKELY(policy != HF_POLICY_UNDECIDED) ? (enum hf_policy)policy : hf_policy_decide(object);
}

static inline bool hf_policy_is_ours(enum hf_object object) {
    uint32_t policy = hf_load_relaxed(&hf_policies[object]);
    return HF_LIKELY(policy == HF_POLICY_OURS) ||
           (policy == HF_POLICY_UNDECIDED && hf_policy_decide(object) == HF_POLICY_OURS);
}

// From now on every condition variable is glibc's, and each reader-writer lock that is initialised later is, as if it
// were process-shared: a library that reaches glibc's functions past ours may use it, too (deepbind.c). Those that are
// in use stay as they are.
void hf_policy_leave_objects_to_glibc(void);
bool hf_policy_leaves_new_objects_to_glibc(void);

#endif
