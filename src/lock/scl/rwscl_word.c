// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers of RW-SCL: how they wait for the word.
//
// While the readers have their slice the word's owner waits for its end, so the others sleep. In the writers' slice
// they spin as at a FlexGuard lock, where that pays. Where it does not, a woken writer that finds the word taken again
// has the next unlock wake another one, and so on: with three writers a call of the kernel in each section, a quarter
// of the slice (docs/rwscl.md). So a writer that was woken in vain several times sleeps for a set time instead, and
// tells nobody.
//
//              woken in vain, HF_WAKES_IN_VAIN times, in the writers' slice
//     +--------+ --------------------------------------------------------> +-------------+
//     | sleeps |    announces itself first, for those who still sleep      | timed sleep | <-+  released meanwhile:
//     |        |    (word.I2)                                              |             |   |  twice as long as
//     +--------+ <-------------------------------------------------------- +-------------+ --+  before
//          |        the slice ends, no release, or it has slept enough        |
//          |                                                                  |  FREE after it
//          +-----------> has the word, as HELD_WITH_SLEEPERS (word.I2) <------+
//
// The front place goes round. The writer that ends the writers' slice would come back for it before those whom it has
// woken can run, and keep it for as long as the readers have theirs. So it stands back for a timed sleep, and one of
// those in theirs is woken with the readers. Both cost nothing: it is the readers' slice. (Where they do not want it,
// too: to stay in front then took kccachetest wicked 0.65 s in place of 0.52.)
//
// Modelled as the same waits of a FlexGuard lock, in verify/lock/flexguard.pml: a thread that has announced itself may
// take the word so, or announce itself and sleep, at any time. How long its timed sleeps are is bounded by wait.P3
// (yield_policy.h).
#include <errno.h>

#include "base/clock.h"
#include "hint/freshness.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_slice.h"
#include "lock/scl/rwscl_state.h"
#include "lock/wait/yield_policy.h"
#include "park/deadline.h"
#include "thread/left_wait.h"

// Once or twice happens where the word is not taken again at once, too: there timed sleeps cost up to a tenth.
enum { HF_WAKES_IN_VAIN = 3 };

// True with the word, and critical.
static bool take_word_or_announce(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_critical_enter(self);
    if (hf_exchange_acquire(&lock->word, HF_WORD_HELD_WITH_SLEEPERS) == HF_WORD_FREE) // word.I2
        return true;
    hf_critical_leave(self);
    return false;
}

// Nanoseconds for which the writers can do without the caller: until the readers' next slice is over, at whose end one
// of them should be in front. 0: it is the readers' slice.
static uint64_t spare_ns(const hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    if (!hf_rwscl_is_writers(state))
        return 0;
    if (!(state & HF_RWSCL_READERS_WAIT))
        return UINT64_MAX;
    struct hf_rwscl_weights weights = hf_rwscl_weights_of(lock);
    return hf_rwscl_left_ns(lock, hf_rwscl_slice_ticks(lock, weights.readers, weights.writers));
}

// Ends with the writers' slice, so that the front place does not go to those who sleep alone.
static void sleep_in_slice(hf_rwscl_t *lock, uint64_t ns) {
    uint32_t state = hf_load_relaxed(&lock->state);
    if (!hf_rwscl_is_writers(state))
        return;
    struct hf_deadline end = hf_deadline_or_in(NULL, ns);
    hf_futex_wait_as(&lock->state, state, &end, HF_RWSCL_SLEEPS_FOR_A_TIME);
}

// The caller has announced itself, as if it were about to sleep. True with the word, and critical; false when it is
// time to sleep.
static bool sleep_until_free(hf_rwscl_t *lock, struct hf_thread_record *self, struct hf_yields *yields,
                             struct hf_wait *wait) {
    uint64_t now_ns = hf_monotonic_ns(), most_ns;
    hf_release_count before = hf_load_relaxed(&lock->releases);
    while (hf_yields_are_left(yields) && (most_ns = spare_ns(lock)) != 0) {
        uint64_t since_ns = now_ns;
        uint32_t sleep_ns = hf_yields_next_sleep(yields);
        hf_count(self, blocked);
        hf_wait_falls_asleep(wait);
        sleep_in_slice(lock, sleep_ns < most_ns ? sleep_ns : most_ns);
        hf_wait_awakes(wait);
        now_ns = hf_monotonic_ns();
        hf_yields_slept(yields, now_ns - since_ns);
        if (hf_flexguard_try_word(&lock->word, self, HF_WORD_HELD_WITH_SLEEPERS))
            return true;
        hf_release_count releases = hf_load_relaxed(&lock->releases);
        if (releases == before) // its owner stays: its unlock is what to wait for
            return false;
        before = releases;
    }
    return false;
}

static __attribute__((noinline)) int sleep_for_word(hf_rwscl_t *lock, struct hf_thread_record *self,
                                                    const struct hf_deadline *deadline, struct hf_wait *wait) {
    struct hf_yields yields = hf_yields_begin(!deadline && hf_may_yield(self, 0));
    for (int in_vain = 0;; in_vain++) {
        if (take_word_or_announce(lock, self))
            return 0;
        if (in_vain >= HF_WAKES_IN_VAIN) {
            if (sleep_until_free(lock, self, &yields, wait))
                return 0;
            if (take_word_or_announce(lock, self))
                return 0;
            in_vain = HF_WAKES_IN_VAIN - 1; // the next time one is enough
        }
        hf_count(self, blocked);
        hf_hint_look_again();
        hf_wait_falls_asleep(wait);
        int error = hf_futex_wait(&lock->word, HF_WORD_HELD_WITH_SLEEPERS, deadline);
        hf_wait_awakes(wait);
        if (error == ETIMEDOUT)
            return ETIMEDOUT;
    }
}

struct leaving {
    struct hf_left_wait left;
    hf_rwscl_t *lock;
};

// It may be the one that was woken (word.I2).
static void undo(struct hf_left_wait *left) {
    hf_rwscl_t *lock = ((struct leaving *)left)->lock;
    hf_fetch_add_relaxed(&lock->waiting_writers, -1u);
    hf_word_wake(&lock->word);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

bool hf_rwscl_stands_back(hf_rwscl_t *lock, struct hf_thread_record *self, struct hf_rwscl_wait *wait) {
    if (wait->has_begun || !hf_may_yield(self, 1) || hf_load_relaxed(&lock->waiting_writers) == 0 ||
        hf_rwscl_left_ns(lock, 0) < 2 * (uint64_t)HF_YIELD_FIRST_NS)
        return false;
    hf_rwscl_wait_begins(lock, wait, self);
    hf_flexguard_release_fenced(&lock->word, &lock->releases, self);
    hf_timed_sleep_in_wait(&wait->wait, HF_YIELD_FIRST_NS);
    hf_rwscl_wait_for_word(lock, self, NULL, wait);
    return true;
}

int hf_rwscl_wait_for_word(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                           struct hf_rwscl_wait *wait) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock};
    hf_rwscl_wait_begins(lock, wait, self);
    // A woken thread that has not run yet is not away (writers_are_away).
    hf_fetch_add_relaxed(&lock->waiting_writers, 1);
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth, undo);
    int error =
        hf_rwscl_is_writers(hf_load_relaxed(&lock->state)) && hf_spinning_pays()
            ? hf_flexguard_go_on_waiting(&lock->word, &lock->spinners, &lock->releases, self, deadline, &wait->wait)
            : sleep_for_word(lock, self, deadline, &wait->wait);
    hf_left_wait_end(&leaving.left);
    hf_fetch_add_relaxed(&lock->waiting_writers, -1u);
    if (!error) // for the monitor it is the lock that is held, not its word
        hf_store_relaxed(&self->critical.lock, (uint64_t)(uintptr_t)hf_rwscl_shown_as(lock));
    return error;
}
