// SPDX-License-Identifier: MIT OR Apache-2.0
// What glibc does to the mutex while it waits is not seen by us, so we say it: meanwhile the thread is not critical by
// this mutex, no gate is closed behind it, and it is counted as one that may sleep on the mutex's word, as it will when
// it takes the mutex again.
//
// Between these words and what glibc does to the lock word lie a few instructions in which the thread holds the mutex
// and is not counted (docs/interposer.md). That costs its waiters some spinning at worst, never the lock.
#include "preload/shared_cond.h"

#include "observe/observation.h"
#include "park/sleeper_counts.h"
#include "park/slice_request.h"
#include "park/word_lock.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex_layout.h"
#include "thread/left_wait.h"

struct owed {
    struct hf_left_wait left;
    const uint32_t *counted_on; // NULL: nowhere
    bool requests;              // as the mutex's owner it requests a longer slice
};

// When the wait is over, in whatever way, the thread holds the mutex again exactly if it did before: glibc has taken it
// by now, also for a thread that was cancelled or leaves by siglongjmp.
static void give_back(struct hf_left_wait *left) {
    struct owed *owed = (struct owed *)left;
    hf_store_relaxed(&left->self->critical.critical_depth, left->depth);
    hf_program_order();
    const uint32_t *counted_on = owed->counted_on;
    owed->counted_on = NULL;
    if (counted_on)
        hf_sleeper_goes(counted_on);
    if (owed->requests) {
        owed->requests = false;
        hf_slice_request();
    }
}

static void unwound(struct owed *owed) {
    hf_left_wait_unwound(&owed->left);
}

static void stand_aside(struct owed *owed, pthread_mutex_t *posix) {
    struct hf_thread_record *self = hf_self();
    hf_left_wait_begin(&owed->left, self, self->critical.critical_depth, give_back);
    struct hf_mutex *mutex = hf_mutex_in(posix);
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    bool refused = (type == HF_MUTEX_RECURSIVE || type == HF_MUTEX_ERRORCHECK) && !hf_mutex_is_owned_by(mutex, self);
    if (!refused) {
        hf_sleeper_comes(&mutex->word);
        owed->counted_on = &mutex->word;
        hf_permits_give_all(hf_mutex_take_permits_owed(mutex));
        hf_chosen_stand_aside(mutex, self);
        owed->requests = hf_discipline_of(mutex) == HF_DISCIPLINE_EXTENDED;
        hf_critical_leave(self);
        if (owed->requests)
            hf_extended_ends(self);
        bool wakes = hf_load_relaxed(&mutex->word) == HF_WORD_HELD_WITH_SLEEPERS; // as glibc will
        hf_note_release(&mutex->word, self, hf_hold_ends(&mutex->word, self, wakes));
    }
}

static int come_back(struct owed *owed, int error) {
    give_back(&owed->left);
    hf_left_wait_end(&owed->left);
    return error;
}

int hf_wait_by_glibcs(hf_glibcs_wait *wait, pthread_cond_t *cond, pthread_mutex_t *mutex) {
    if (!hf_mutex_is_interposed(hf_mutex_in(mutex))) // there is nothing to say
        return wait(cond, mutex);
    __attribute__((cleanup(unwound))) struct owed owed = {.counted_on = NULL};
    stand_aside(&owed, mutex);
    return come_back(&owed, wait(cond, mutex));
}

int hf_timedwait_by_glibcs(hf_glibcs_timedwait *wait, pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *at) {
    if (!hf_mutex_is_interposed(hf_mutex_in(mutex))) // there is nothing to say
        return wait(cond, mutex, at);
    __attribute__((cleanup(unwound))) struct owed owed = {.counted_on = NULL};
    stand_aside(&owed, mutex);
    return come_back(&owed, wait(cond, mutex, at));
}

int hf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    return hf_wait_by_glibcs(hf_glibc()->cond_wait, cond, mutex);
}

int hf_shared_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    return hf_timedwait_by_glibcs(hf_glibc()->cond_timedwait, cond, mutex, at);
}

int hf_shared_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at) {
    if (!hf_mutex_is_interposed(hf_mutex_in(mutex))) // there is nothing to say
        return hf_glibc()->cond_clockwait(cond, mutex, clock, at);
    __attribute__((cleanup(unwound))) struct owed owed = {.counted_on = NULL};
    stand_aside(&owed, mutex);
    return come_back(&owed, hf_glibc()->cond_clockwait(cond, mutex, clock, at));
}
