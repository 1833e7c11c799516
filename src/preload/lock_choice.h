// SPDX-License-Identifier: MIT OR Apache-2.0
// Which lock the program's mutexes are, all of them or those that a rule names. Whatever the choice, the word inside
// the mutex decides who owns it; the choice is how threads come to it:
//
//     FLEXGUARD   the word and a queue of spinning waiters (lock/flexguard/flexguard_lock.h)
//     EXTENDED    the same, and the kernel is asked for a longer time slice meanwhile (park/slice_request.h)
//     BLOCKING    the word alone
//     USCL        u-SCL on the word and a pointer to its slices (lock/scl/uscl_lock.h)
//     GATED       any other lock of lock_list.def stands as a gate before the word: pass the gate, take the word. The
//                 gate is held as long as the word, so waiters wait as that lock's waiters do. Only a thread that comes
//                 by way of glibc (out of a condition variable, say) takes the word without the gate, and says so in
//                 owner_has_gate.
//     GLIBCS      glibc's own functions.
//
// Decided before the first mutex is locked, which may be before the interposer's constructor has run: other libraries'
// constructors lock, and make threads that do. A gate lies where FlexGuard's waiters have their queue, and glibc's
// sleepers are not counted, so no mutex may change hands while it is in use (tests/posix/early_threads_test.c).
#ifndef HF_PRELOAD_LOCK_CHOICE_H
#define HF_PRELOAD_LOCK_CHOICE_H

#include <stdbool.h>

#include "config/policy_text.h"
#include "lock/lock_table.h"
#include "observe/counted_steps.h"
#include "park/futex.h"
#include "park/slice_request.h"
#include "preload/mutex_layout.h"

// Above the bits of a mutex's kind, so that one look at both tells the usual cases (mutex.c).
enum hf_discipline {
    HF_DISCIPLINE_FLEXGUARD = 0,
    HF_DISCIPLINE_BLOCKING = 1 << 16,
    HF_DISCIPLINE_GATED = 2 << 16,
    HF_DISCIPLINE_USCL = 3 << 16,
    HF_DISCIPLINE_GLIBCS = 4 << 16,
    HF_DISCIPLINE_EXTENDED = 5 << 16,
    HF_DISCIPLINE_UNDECIDED = 6 << 16,
};

struct hf_lock_choice {
    enum hf_discipline discipline;
    bool owes_permits; // FlexGuard or EXTENDED for good: from then on a mutex keeps permits for its release
    bool latency;      // FlexGuard whose head takes the word whenever it is free (bias=latency)
    uint32_t uscl_options;
    const struct hf_lock_kind *gate;
};

// Of mutexes without a rule, and of those with rule 1, 2, ...
extern struct hf_lock_choice hf_lock_choices[1 + HF_RULES_MAX] __attribute__((visibility("hidden")));

static inline const struct hf_lock_choice *hf_choice_of(const struct hf_mutex *mutex) {
    return &hf_lock_choices[hf_mutex_rule(mutex)];
}

// For callers that use what the discipline needs. Acquire: pairs with the release of the thread that has decided it,
// while others may be here already.
static inline enum hf_discipline hf_discipline_of(const struct hf_mutex *mutex) {
    return hf_load_acquire(&hf_choice_of(mutex)->discipline);
}

// What FlexGuard's head is shown of a mutex's releases. With the bias to latency none: then it takes a free word at
// once, and does not leave it to an owner that comes back for it (defer_policy.h).
static inline const hf_release_count *hf_releases_shown(const struct hf_mutex *mutex) {
    static const hf_release_count none;
    return hf_choice_of(mutex)->latency ? &none : &mutex->releases;
}

// Decides for all mutexes, and gives those their rules that are variables. Threads that come here together find the
// same. Locks nothing, and waits for nobody.
void hf_disciplines_decide(void) __attribute__((cold));

static inline void hf_disciplines_be_decided(void) {
    if (HF_UNLIKELY(hf_load_acquire(&hf_lock_choices[0].discipline) == HF_DISCIPLINE_UNDECIDED))
        hf_disciplines_decide();
}

// Does Holdfast lock it? False: it is glibc's, by its kind or by the policy. Each call for a mutex that may be the
// first one comes here (mutex.c).
static inline bool hf_mutex_is_interposed(const struct hf_mutex *mutex) {
    if (!hf_mutex_is_ours(mutex))
        return false;
    hf_disciplines_be_decided();
    return hf_choice_of(mutex)->discipline != HF_DISCIPLINE_GLIBCS;
}

// Under any other discipline a gate may have its bytes where permits are kept, or have left some there before a fork.
static inline bool hf_mutex_can_owe_permits(const struct hf_mutex *mutex) {
    return hf_choice_of(mutex)->owes_permits && hf_mutex_is_ours(mutex);
}

// Called by the owner of a mutex of ours.
static inline hf_permits_owed hf_mutex_take_permits_owed(struct hf_mutex *mutex) {
    if (HF_LIKELY(!hf_mutex_can_owe_permits(mutex) || !mutex->permits_owed))
        return 0;
    hf_permits_owed permits = mutex->permits_owed;
    mutex->permits_owed = 0;
    return permits;
}

// Take and give back the mutex by a discipline other than FlexGuard. As their counterparts in flexguard_lock.h: 0 or
// ETIMEDOUT.
int hf_chosen_acquire(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline);
bool hf_chosen_try_acquire(struct hf_mutex *mutex, struct hf_thread_record *self);
void hf_chosen_release(struct hf_mutex *mutex, struct hf_thread_record *self);

// What is left to do after a release of the word alone.
void hf_chosen_after_release(const uint32_t *word, struct hf_thread_record *self, bool wakes);

// A section of an EXTENDED mutex, or a try to begin one, has ended, and the thread's depth is what it was before.
// Whether hf_extended_give_back() is due.
static inline bool hf_extended_ends_granted(const struct hf_thread_record *self) {
    return self->critical.critical_depth == 0 && hf_slice_ends_granted();
}

static inline void hf_extended_give_back(void) {
    if (hf_slice_give_back())
        hf_count_step(HF_COUNTED_SLICE_GIVEN_BACK);
}

static inline void hf_extended_ends(const struct hf_thread_record *self) {
    if (HF_UNLIKELY(hf_extended_ends_granted(self)))
        hf_extended_give_back();
}

// After a wait, in the section that the thread has now: the mutex's, or one around the wait.
static inline void hf_extended_waited(const struct hf_thread_record *self) {
    if (self->critical.critical_depth != 0)
        hf_slice_request();
}

// Opens the gate that the owner has closed before glibc gives the word away; or ends the slice of the lock's time that
// it has, before it waits for a condition.
void hf_chosen_stand_aside(struct hf_mutex *mutex, struct hf_thread_record *self);

// The mutex is destroyed, and was ours.
void hf_chosen_forget(struct hf_mutex *mutex);

#endif
