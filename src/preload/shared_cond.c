// SPDX-License-Identifier: MIT OR Apache-2.0
// What glibc does to the mutex while it waits is not seen by us, so we say it: meanwhile the thread is not critical by
// this mutex, no gate is closed behind it, and it is counted as one that may sleep on the mutex's word, as it will when
// it takes the mutex again.
//
// Between these words and what glibc does to the lock word lie a few instructions in which the thread holds the mutex
// and is not counted (docs/interposer.md). That costs its waiters some spinning at worst, never the lock.
#include "preload/shared_cond.h"

#include "observe/observation.h"
#include "park/sleepers.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex_layout.h"
#include "thread/thread_record.h"

struct owed {
    uint32_t depth;
    const uint32_t *counted_on; // NULL: nowhere
};

// When the wait is over, in whatever way, the thread holds the mutex again exactly if it did before. Cancellation comes
// here by unwinding, before the program's own clean-up handlers run, which unlock the mutex.
static void give_back(struct owed *owed) {
    hf_store_relaxed(&hf_self()->critical.critical_depth, owed->depth);
    hf_program_order();
    if (owed->counted_on)
        hf_sleeper_goes(owed->counted_on);
}

static struct owed stand_aside(pthread_mutex_t *posix) {
    struct hf_thread_record *self = hf_self();
    struct owed owed = {.depth = self->critical.critical_depth, .counted_on = NULL};
    struct hf_mutex *mutex = hf_mutex_in(posix);
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    bool refused = (type == HF_MUTEX_RECURSIVE || type == HF_MUTEX_ERRORCHECK) && !hf_mutex_is_owned_by(mutex, self);
    if (hf_mutex_is_chosen(mutex) && !refused) {
        hf_sleeper_comes(&mutex->word);
        owed.counted_on = &mutex->word;
        hf_turns_give_all(hf_mutex_take_turns_owed(mutex));
        hf_chosen_stand_aside(mutex, self);
        hf_critical_leave(self);
        if (hf_is_observed(self, &mutex->word))
            hf_note_release(self);
    }
    return owed;
}

#define HF_WHILE_STANDING_ASIDE(mutex) __attribute__((cleanup(give_back), unused)) struct owed owed = stand_aside(mutex)

int hf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_wait(cond, mutex);
}

int hf_shared_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_timedwait(cond, mutex, at);
}

int hf_shared_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_clockwait(cond, mutex, clock, at);
}
