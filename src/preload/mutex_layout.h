// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a lock of Holdfast's lives inside glibc's pthread_mutex_t.
//
//      bytes   glibc calls it       Holdfast keeps there
//      0..3    __lock               the lock word: glibc's states, glibc's numbers (park/word_lock.h)
//      4..7    __count              depth of a recursive mutex, as glibc; of any, its owner's mark while it gives it
//                                   back to wait for a condition (hf_mutex_unlock_to_wait)
//      8..11   __owner              the owner's tid, as glibc
//     12..15   __nusers             1 while locked, as glibc (pthread_mutex_destroy looks at it)
//     16..19   __kind               type and attributes, as glibc; above them the number of a rule (lock_rules.h)
//     20..21   __spins              releases (defer_policy.h); glibc only guesses from it how long to spin
//     22..23   x86: __elision       fenced (park/word_lock.h), owner_has_gate (lock_choice.h)
//              others: of __spins
//     24..39   __list               FlexGuard's queue tail and permits owed to waiters (cond.c); or u-SCL's slices in
//                                   the place of the permits; or the gate; glibc uses it for robust mutexes only
//
// Where __spins has all of 20..23 glibc, having taken an adaptive mutex, moves it an eighth of the way to a count of
// polls below 32,768. Then owner_has_gate, its upper byte, is 0, and so it stays; the others are advice.
//
// So code that reaches the mutex through glibc (its condition variables, a library that is bound past us) excludes as
// ever; how it is woken: deepbind.c. A mutex of a kind that glibc needs __list for, or that the kernel knows about, is
// glibc's entirely.
#ifndef HF_PRELOAD_MUTEX_LAYOUT_H
#define HF_PRELOAD_MUTEX_LAYOUT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "lock/posix/condition.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/waiter_queue.h"

enum { HF_GATE_BYTES = 16 };

struct hf_mutex {
    union {
        struct {
            uint32_t word;
            uint32_t count;
        };
        uint64_t word_and_count;
    };
    uint32_t owner;
    uint32_t nusers;
    int32_t kind;
    hf_release_count releases;
    uint8_t fenced;
    bool owner_has_gate;
    union {
        struct {
            hf_queue_tail queue_tail;
            union {
                hf_permits_owed permits_owed; // to be given when the mutex is; changed by its owner only
                struct hf_slices *slices;     // not in the tail's place: u-SCL's waiters spin in that queue, too
            };
        };
        char gate[HF_GATE_BYTES];
    };
};

#define HF_SAME_PLACE(ours, glibcs)                                                                                    \
    _Static_assert(offsetof(struct hf_mutex, ours) == offsetof(pthread_mutex_t, __data.glibcs), "as glibc lays it out")
HF_SAME_PLACE(word, __lock);
HF_SAME_PLACE(count, __count);
HF_SAME_PLACE(count, __count);
HF_SAME_PLACE(owner, __owner);
HF_SAME_PLACE(nusers, __nusers);
HF_SAME_PLACE(kind, __kind);
HF_SAME_PLACE(releases, __spins);
HF_SAME_PLACE(queue_tail, __list);
#undef HF_SAME_PLACE
_Static_assert(offsetof(struct hf_mutex, fenced) == offsetof(pthread_mutex_t, __data.__spins) + 2,
               "where x86's glibc keeps lock elision's count, and others the upper half of __spins");
_Static_assert(sizeof(struct hf_mutex) <= sizeof(pthread_mutex_t), "nothing behind glibc's mutex");

enum hf_mutex_type {
    HF_MUTEX_NORMAL = PTHREAD_MUTEX_TIMED_NP,
    HF_MUTEX_RECURSIVE = PTHREAD_MUTEX_RECURSIVE_NP,
    HF_MUTEX_ERRORCHECK = PTHREAD_MUTEX_ERRORCHECK_NP,
    HF_MUTEX_ADAPTIVE = PTHREAD_MUTEX_ADAPTIVE_NP,
};

enum {
    HF_KIND_TYPE_BITS = 3,
    HF_KIND_ELISION_BITS = 0x300, // glibc's memory of whether to elide; means nothing to the lock
    // glibc masks the type's bits out wherever it looks at the kind (PTHREAD_MUTEX_TYPE), and has none up here.
    HF_KIND_RULE_SHIFT = 20,
    HF_KIND_RULE_BITS = 0xf << HF_KIND_RULE_SHIFT,
};

static inline struct hf_mutex *hf_mutex_in(pthread_mutex_t *mutex) {
    return (struct hf_mutex *)mutex;
}

// Robust, priority-inheriting, priority-protected and process-shared mutexes are glibc's: their bits are all the
// others.
static inline bool hf_mutex_is_ours(const struct hf_mutex *mutex) {
    return (mutex->kind & ~(HF_KIND_TYPE_BITS | HF_KIND_ELISION_BITS | HF_KIND_RULE_BITS)) == 0;
}

// 0: none.
static inline unsigned hf_mutex_rule(const struct hf_mutex *mutex) {
    return ((unsigned)mutex->kind & HF_KIND_RULE_BITS) >> HF_KIND_RULE_SHIFT;
}

// `self` must be the caller's.
static inline bool hf_mutex_is_owned_by(const struct hf_mutex *mutex, const struct hf_thread_record *self) {
    // Relaxed: only the caller itself can have stored the caller's tid there.
    return hf_load_relaxed(&mutex->owner) == hf_tid(self);
}

static inline enum hf_mutex_type hf_mutex_type_of(const struct hf_mutex *mutex) {
    return (enum hf_mutex_type)(mutex->kind & HF_KIND_TYPE_BITS);
}

// Is `self`, the caller, refused when it gives a mutex of ours back? Nobody but the caller can change the answer.
static inline bool hf_mutex_refuses(const struct hf_mutex *mutex, const struct hf_thread_record *self) {
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    return (type == HF_MUTEX_RECURSIVE || type == HF_MUTEX_ERRORCHECK) && !hf_mutex_is_owned_by(mutex, self);
}

#endif
