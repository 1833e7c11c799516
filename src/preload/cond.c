// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting on a condition variable is glibc's; what glibc does to the mutex meanwhile is not seen by us, so we say it:
// while it waits, the thread is not critical by this mutex, and no gate is closed behind it.
//
// Between these words and what glibc does to the lock word lie a few instructions in which the thread holds the mutex
// and is not counted (docs/interposer.md). That costs its waiters some spinning at worst, never the lock.
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex_layout.h"
#include "preload/symbol_version.h"
#include "thread/thread_record.h"

struct depth_owed {
    uint32_t depth;
};

// When the wait is over, in whatever way, the thread holds the mutex again exactly if it did before. Cancellation comes
// here by unwinding, before the program's own clean-up handlers run, which unlock the mutex.
static void give_back_depth(struct depth_owed *owed) {
    hf_store_relaxed(&hf_self()->critical.critical_depth, owed->depth);
    hf_program_order();
}

static struct depth_owed stand_aside(pthread_mutex_t *posix) {
    struct hf_thread_record *self = hf_self();
    struct depth_owed owed = {.depth = self->critical.critical_depth};
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (hf_mutex_is_ours(mutex)) {
        hf_chosen_open_gate(mutex);
        hf_critical_leave(self);
    }
    return owed;
}

#define HF_WHILE_STANDING_ASIDE(mutex)                                                                                 \
    __attribute__((cleanup(give_back_depth), unused)) struct depth_owed owed = stand_aside(mutex)

static int interposed_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_wait(cond, mutex);
}

static int interposed_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_timedwait(cond, mutex, at);
}

static int interposed_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *at) {
    HF_WHILE_STANDING_ASIDE(mutex);
    return hf_glibc()->cond_clockwait(cond, mutex, clock, at);
}

HF_EXPORT(interposed_wait, pthread_cond_wait, "GLIBC_2.3.2");
HF_EXPORT(interposed_timedwait, pthread_cond_timedwait, "GLIBC_2.3.2");
HF_EXPORT_TWICE(interposed_clockwait, pthread_cond_clockwait, "GLIBC_2.30", "GLIBC_2.34");
