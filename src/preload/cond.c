// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_cond_*: the waiters' list is lock/posix/condition.h, inside glibc's object (cond_layout.h); the mutex is
// given back and taken by the interposer's own functions, whatever its kind.
#include <errno.h>

#include "park/deadline.h"
#include "park/word_lock.h"
#include "preload/cond.h"
#include "preload/cond_layout.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex.h"
#include "preload/policy.h"
#include "preload/shared_cond.h"
#include "preload/symbol_version.h"
#include "thread/left_wait.h"

static __attribute__((noinline)) bool is_not_closed(const pthread_cond_t *cond) {
    return hf_load_acquire(&hf_policies[HF_OBJECT_COND]) == HF_POLICY_LEFT_ONE_BY_ONE &&
           !hf_condition_is_closed((const struct hf_condition *)cond);
}

static inline bool is_ours(const pthread_cond_t *cond) {
    return !hf_cond_is_shared(cond) && (hf_policy_is_ours(HF_OBJECT_COND) || is_not_closed(cond));
}

// Whether the caller has the mutex, and will give it back by a function of ours, as far as is known.
static bool gives_back(const struct hf_mutex *mutex) {
    const struct hf_thread_record *self = hf_self();
    // The depth: a thread that has taken the mutex by glibc's own function will give it back by that, which knows of no
    // permits. The depth tells so only of a thread that has no other mutex of ours. Of one that has, a permit that is
    // owed is not given until the mutex is next given back by a function of ours (unchecked).
    return hf_mutex_can_owe_permits(mutex) && hf_mutex_is_owned_by(mutex, self) && self->critical.critical_depth > 0;
}

// A crowd's permits are best given when the mutex is: all that wake up before can only spin or sleep again. Its owner
// owes them until it gives it back, in the mutex itself. Nobody else may be made to wait for: a chain of waiters that
// hand their permits on stops at one that can't run, suspended in a signal handler, say (tests/posix/cond_test).
static void give_permits_with_mutex(struct hf_waiter *chosen) {
    struct hf_waiter *at_once = NULL, **end = &at_once;
    for (struct hf_waiter *next; chosen; chosen = next) {
        struct hf_mutex *mutex = hf_mutex_in(chosen->mutex);
        next = chosen->next_chosen;
        if (gives_back(mutex)) {
            hf_permits_owe(&mutex->permits_owed, chosen);
        } else {
            *end = chosen;
            end = &chosen->next_chosen;
        }
    }
    *end = NULL;
    hf_waiters_give_permits(at_once);
}

// The chosen sleep on, as some of those who sleep for the mutex: each unlock wakes one of these. The kernel keeps that
// queue, and a thread that runs a signal handler stands in none; so it holds nobody up.
static void move_to_mutex(struct hf_waiter *chosen) {
    for (struct hf_waiter *next; chosen; chosen = next) {
        struct hf_mutex *mutex = hf_mutex_in(chosen->mutex);
        next = chosen->next_chosen; // before its permit: its node may be gone after that
        if (gives_back(mutex))
            hf_waiter_move_to(&mutex->word, chosen);
        else
            hf_waiter_give_permit(chosen);
    }
}

// How far a wait has come.
enum progress {
    WAIT_BEGINS, // to be one; the mutex is the caller's, or on its way to the others (hf_mutex_is_kept)
    WAIT_SLEEPS, // without the mutex
    WAIT_ENDS,   // is no waiter any more: it takes the mutex again, or has never given it back
};

struct wait {
    struct hf_left_wait left;
    struct hf_waiter waiter;
    struct hf_mutex_release release;
    uint32_t progress;
};

static int take_mutex_again(struct hf_waiter *waiter) {
    if (HF_LIKELY(!waiter->moved))
        return hf_mutex_lock(waiter->mutex);
    hf_mutex_lock_as_sleeper(hf_mutex_in(waiter->mutex), &waiter->moved); // condition.C5
    return 0;
}

// A moved one that does not take the mutex: it may have been woken for it.
static void stop_being_moved(struct hf_waiter *waiter) {
    const uint32_t *word = &hf_mutex_in(waiter->mutex)->word;
    if (!waiter->moved)
        return;
    hf_store_relaxed(&waiter->moved, false);
    hf_program_order();
    hf_sleeper_goes(word);
    hf_word_wake(word);
}

// Asked before the caller is a waiter: if the owner chose it then, it would have to stay for its permit (condition.C2),
// which the owner gives with the mutex. Of glibc's mutexes their unlock has to be asked; nobody owes permits in those.
static bool refuses_wait(pthread_mutex_t *mutex) {
    return hf_mutex_is_interposed(hf_mutex_in(mutex)) && hf_mutex_refuses(hf_mutex_in(mutex), hf_self());
}

// It was cancelled, or left by siglongjmp. Before the program's own clean-up handlers run, and before a thread that
// jumped goes on: they expect to have the mutex. (One that is thrown out while it takes the mutex again goes without,
// as with glibc; and so may one that gives a mutex of glibc's back, of which it is not known how far that has come.)
static void leave(struct hf_left_wait *left) {
    struct wait *wait = (struct wait *)left;
    if (wait->progress == WAIT_ENDS) {
        stop_being_moved(&wait->waiter);
        return;
    }
    bool has_mutex = wait->progress == WAIT_BEGINS && hf_mutex_is_kept(wait->waiter.mutex, &wait->release);
    uint32_t depth = left->depth;
    if (wait->progress == WAIT_BEGINS && !has_mutex && depth > 0)
        depth--; // it is that with the mutex
    hf_store_relaxed(&left->self->critical.critical_depth, depth);
    hf_waiter_leave_cancelled(&wait->waiter);
    left->depth = depth;
    hf_program_order();
    hf_store_relaxed(&wait->progress, WAIT_ENDS);
    hf_program_order();
    if (!has_mutex)
        take_mutex_again(&wait->waiter);
    left->depth = left->self->critical.critical_depth;
}

static void unwound(struct wait *wait) {
    hf_left_wait_unwound(&wait->left);
}

// What a wait returns that has not begun, because condition variables were left to glibc since the policy was asked.
enum { NOT_OURS_ANY_MORE = -1 };

static __attribute__((noinline)) int sleep_until(struct wait *wait, pthread_mutex_t *mutex,
                                                 const struct hf_deadline *deadline) {
    if (HF_UNLIKELY(!hf_condition_join(&wait->waiter))) {
        hf_store_relaxed(&wait->progress, WAIT_ENDS);
        return NOT_OURS_ANY_MORE;
    }
    int error = hf_mutex_unlock_to_wait(mutex, &wait->release);
    if (error) {
        hf_waiter_leave_cancelled(&wait->waiter); // refused by glibc
        hf_store_relaxed(&wait->progress, WAIT_ENDS);
        return error;
    }
    wait->left.depth = wait->left.self->critical.critical_depth;
    hf_program_order();
    hf_store_relaxed(&wait->progress, WAIT_SLEEPS);
    int result = hf_condition_sleep(&wait->waiter, deadline);
    if (result == ETIMEDOUT && !hf_waiter_leave(&wait->waiter))
        result = 0; // chosen just then
    hf_store_relaxed(&wait->progress, WAIT_ENDS);
    error = take_mutex_again(&wait->waiter);
    return error ? error : result;
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct hf_deadline *deadline) {
    if (deadline && !hf_deadline_is_valid(deadline))
        return EINVAL;
    if (HF_UNLIKELY(refuses_wait(mutex)))
        return EPERM;
    int saved_errno = errno;
    struct hf_thread_record *self = hf_self();
    __attribute__((cleanup(unwound))) struct wait wait = {.progress = WAIT_BEGINS};
    wait.release = hf_mutex_release_begin(mutex);
    hf_waiter_begin(&wait.waiter, hf_condition_in(cond), mutex);
    hf_left_wait_begin(&wait.left, self, self->critical.critical_depth, leave);
    wait.left.is_repeated = true;
    int error = sleep_until(&wait, mutex, deadline);
    hf_left_wait_end(&wait.left);
    errno = saved_errno;
    return error;
}

int hf_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    int error = is_ours(cond) ? wait_until(cond, mutex, NULL) : NOT_OURS_ANY_MORE;
    return error == NOT_OURS_ANY_MORE ? hf_shared_cond_wait(cond, mutex) : error;
}

int hf_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    if (!is_ours(cond))
        return hf_shared_cond_timedwait(cond, mutex, at);
    clockid_t clock = hf_cond_attributes(cond) & HF_COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    int error = wait_until(cond, mutex, &deadline);
    return error == NOT_OURS_ANY_MORE ? hf_shared_cond_timedwait(cond, mutex, at) : error;
}

static int interposed_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *at) {
    if (!is_ours(cond))
        return hf_shared_cond_clockwait(cond, mutex, clock, at);
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    int error = wait_until(cond, mutex, &deadline);
    return error == NOT_OURS_ANY_MORE ? hf_shared_cond_clockwait(cond, mutex, clock, at) : error;
}

// Most signals and broadcasts find that nobody waits: for those no frame is made.
static inline bool is_ours_and_idle(pthread_cond_t *cond) {
    return hf_load_relaxed(&hf_policies[HF_OBJECT_COND]) == HF_POLICY_OURS && !hf_cond_is_shared(cond) &&
           !hf_condition_may_have_waiters(hf_condition_in(cond));
}

// For lock/wait/turn.h.
static inline void note_work(void) {
    struct hf_thread_record *self = hf_self_record;
    if (HF_LIKELY(self))
        hf_thread_works(self);
}

// The permit is given at once: the wake, a call of the kernel, then holds up all that use the mutex, and not its thread
// alone. If others ran ahead meanwhile they would fill a bounded queue, or empty it, and have to sleep, and somebody to
// wake each of them in turn (docs/interposer-figures.md).
static __attribute__((noinline)) int signal_after_all(pthread_cond_t *cond) {
    if (!is_ours(cond))
        return hf_glibc()->cond_signal(cond);
    struct hf_waiter *chosen = hf_condition_choose_one(hf_condition_in(cond));
    if (chosen)
        hf_waiter_give_permit(chosen);
    return 0;
}

int hf_cond_signal(pthread_cond_t *cond) {
    note_work();
    return HF_LIKELY(is_ours_and_idle(cond)) ? 0 : signal_after_all(cond);
}

static __attribute__((noinline)) int broadcast_after_all(pthread_cond_t *cond) {
    if (!is_ours(cond))
        return hf_glibc()->cond_broadcast(cond);
    // A crowd of which one will find what it waits for: they come one after the other, as the mutex is given back, and
    // the next broadcast does not find those who still queue for it. If all woke up they would all run, to no purpose.
    bool in_vain = hf_condition_wakes_in_vain(hf_condition_in(cond));
    struct hf_waiter *chosen = hf_condition_choose_all(hf_condition_in(cond));
    if (chosen && !chosen->next_chosen)
        hf_waiter_give_permit(chosen); // it is as good as a signal
    else if (in_vain)
        move_to_mutex(chosen);
    else
        give_permits_with_mutex(chosen);
    return 0;
}

int hf_cond_broadcast(pthread_cond_t *cond) {
    note_work();
    return HF_LIKELY(is_ours_and_idle(cond)) ? 0 : broadcast_after_all(cond);
}

HF_EXPORT(hf_cond_wait, pthread_cond_wait, HF_GLIBC_2_3_2);
HF_EXPORT(hf_cond_timedwait, pthread_cond_timedwait, HF_GLIBC_2_3_2);
HF_EXPORT_TWICE(interposed_clockwait, pthread_cond_clockwait, "GLIBC_2.30", "GLIBC_2.34");
HF_EXPORT(hf_cond_signal, pthread_cond_signal, HF_GLIBC_2_3_2);
HF_EXPORT(hf_cond_broadcast, pthread_cond_broadcast, HF_GLIBC_2_3_2);
