// SPDX-License-Identifier: MIT OR Apache-2.0
// How readers of RW-SCL wait: for the writers' slice to end. States and invariants: rwscl_state.h.
#include <errno.h>
#include <limits.h>

#include "base/pause.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_slice.h"
#include "lock/scl/rwscl_state.h"
#include "lock/wait/spin_budget.h"
#include "park/deadline.h"
#include "park/timed_sleep.h"
#include "thread/left_wait.h"

enum {
    HF_RWSCL_POLLS = 1 << 10, // of a reader, before it sleeps: some tens of microseconds
    HF_NO_ROUND = UINT32_MAX, // above all that fit into the state
    HF_AGAIN_POLLS = 1 << 8,
    HF_AGAIN_SLEEP_NS = 20 * 1000,
};

// Time is over for the readers. True when a front writer knows: then the caller has to wait, and says so at once: the
// front writer, which it wakes, may get its CPU.
static bool say_over(hf_rwscl_t *lock, uint64_t now) {
    uint32_t state = hf_load_relaxed(&lock->state);
    for (;;) {
        if (hf_rwscl_keeps_readers_out(state))
            return true;
        if (!(state & HF_RWSCL_FRONT)) // it has given up
            return false;
        if (!(state & HF_RWSCL_READERS_WAIT))
            hf_store_relaxed(&lock->waited_since, now);
        // rwscl.RS5: from a state with FRONT. Release: as in announce.
        if (hf_cas_release_or_load(&lock->state, &state, state | HF_RWSCL_OVER | HF_RWSCL_READERS_WAIT))
            break;
    }
    hf_futex_wake_kind(&lock->state, 1, HF_RWSCL_SLEEPS_IN_FRONT);
    return true;
}

bool hf_rwscl_enter_in_time(hf_rwscl_t *lock) {
    struct hf_rwscl_gate *gate = hf_rwscl_own_gate(lock);
    uint32_t readers = hf_load_relaxed(&gate->readers);
    if (readers & HF_GATE_CLOSED)
        return false;
    if (readers & HF_GATE_TIMED) {
        uint64_t now = hf_ticks();
        hf_store_relaxed(&gate->seen_ticks, now);
        if (hf_rwscl_slice_is_over(lock, now) && say_over(lock, now))
            return false;
    }
    return hf_gate_enter(gate);
}

bool hf_rwscl_enter_again(hf_rwscl_t *lock) {
    for (unsigned polls = 0;; polls++) {
        if (hf_gate_enter(hf_rwscl_own_gate(lock)))
            return true;
        uint32_t draining = hf_load_relaxed(&lock->draining);
        // Above 0 not all readers have left: no writer is inside (rwscl.RS1), and this reader is one more to wait for.
        // So exclusion does not rest on whether the caller really reads. Acquire: pairs with the release of the front
        // writer's addition, and of the readers that have changed it since.
        while (hf_drain_count(draining) > 0) {
            if (hf_cas_acquire_or_load(&lock->draining, &draining, draining + HF_DRAIN_READER))
                return true;
        }
        if (hf_rwscl_is_writers(hf_load_relaxed(&lock->state)))
            return false;
        // A front writer is about to count who is inside, or to open the gates. It may be preempted.
        if (polls < HF_AGAIN_POLLS)
            hf_timed_pause();
        else
            hf_timed_sleep(HF_AGAIN_SLEEP_NS);
    }
}

// In the writers' slice: does none of them use it? Advice, but for the word, which is asked for again.
static bool writers_are_away(hf_rwscl_t *lock, const struct hf_thread_record *self) {
    if (hf_load_relaxed(&lock->word) != HF_WORD_FREE)
        return false;
    uint64_t now = hf_ticks();
    if (hf_rwscl_slice_is_over(lock, now)) // also where one waits, which may be stopped and never come
        return true;
    if (hf_load_relaxed(&lock->waiting_writers) != 0)
        return false;
    if (!hf_load_relaxed(&lock->writers_return) ||
        hf_load_relaxed(&lock->last_writer) == hf_tid(self)) // it won't be the next to write
        return true;
    if (hf_rwscl_is_recent(hf_load_relaxed(&lock->written_at), now))
        return false;
    hf_store_relaxed(&lock->writers_return, 0);
    return true;
}

bool hf_rwscl_read_out_of_turn(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_critical_enter(self);
    bool has_word = hf_word_trylock(&lock->word, HF_WORD_HELD);
    bool entered = false;
    if (has_word) {
        // Relaxed: only a thread that has the word changes what is asked here. word.I1: the acquire of the word orders
        // it.
        if (hf_rwscl_is_writers(hf_load_relaxed(&lock->state)))
            hf_rwscl_open(lock);
        entered = hf_gate_enter(hf_rwscl_own_gate(lock)); // nobody can have closed it since
        HF_CHECK("rwscl.RS1", entered);
        hf_word_unlock(&lock->word);
    }
    if (!entered)
        hf_critical_leave(self);
    return entered;
}

// Says to the writers that a reader waits, and sees to it that the readers have a timekeeper (rwscl.RS4). False when
// the state was another. True: *state is what to sleep on, and *kept, if the caller has become timekeeper, the round in
// which it is.
static bool announce(hf_rwscl_t *lock, uint32_t *state, uint32_t *kept) {
    uint32_t announced = *state | HF_RWSCL_READERS_WAIT | HF_RWSCL_TIMEKEEPER;
    if (announced == *state)
        return true;
    if (!(*state & HF_RWSCL_READERS_WAIT))
        hf_store_relaxed(&lock->waited_since, hf_ticks());
    // Release: a thread that counts how long the slice outlasts its end finds since when somebody waited for that.
    if (!hf_cas_release(&lock->state, *state, announced))
        return false;
    if (!(*state & HF_RWSCL_TIMEKEEPER))
        *kept = hf_rwscl_round(*state);
    *state = announced;
    return true;
}

// rwscl.RS4: a timekeeper that goes, and a reader that was woken to become one and goes, leave that to another. They
// may go inside through a gate that was still open, though it was the writers' turn already.
static void leave_no_keeper_missing(hf_rwscl_t *lock, uint32_t kept) {
    uint32_t state = hf_load_relaxed(&lock->state);
    do {
        if (!hf_rwscl_keeps_readers_out(state) || ((state & HF_RWSCL_TIMEKEEPER) && hf_rwscl_round(state) != kept))
            return;
        // Those on their way to sleep find another state, or are asleep before the wake.
    } while (!hf_cas_acquire_or_load(&lock->state, &state, state & ~(uint32_t)HF_RWSCL_TIMEKEEPER));
    hf_futex_wake_kind(&lock->state, 1, HF_RWSCL_SLEEPS_TO_READ);
}

// Did something change while polling paid?
static bool poll_state(const hf_rwscl_t *lock, uint32_t state) {
    struct hf_spin_budget budget = {.polls_left = HF_RWSCL_POLLS};
    while (hf_spin_budget_left(&budget)) {
        if (hf_load_relaxed(&lock->state) != state)
            return true;
    }
    return false;
}

static void sleep_to_read(const hf_rwscl_t *lock, uint32_t state, bool keeps_time, struct hf_rwscl_looks *looks,
                          const struct hf_deadline *deadline, struct hf_wait *wait) {
    struct hf_deadline look;
    if (keeps_time) {
        look = hf_deadline_or_in(deadline, hf_rwscl_next_look_ns(looks, lock));
        deadline = &look;
    }
    hf_hint_look_again();
    hf_wait_falls_asleep(wait);
    hf_futex_wait_as(&lock->state, state, deadline, HF_RWSCL_SLEEPS_TO_READ);
    hf_wait_awakes(wait);
}

struct leaving {
    struct hf_left_wait left;
    hf_rwscl_t *lock;
    uint32_t kept; // the round that it keeps the time of
};

static void undo(struct hf_left_wait *left) {
    struct leaving *leaving = (struct leaving *)left;
    leave_no_keeper_missing(leaving->lock, leaving->kept);
    hf_fetch_add_relaxed(&leaving->lock->waiting_readers, -1u);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

static __attribute__((noinline)) int wait_to_read(hf_rwscl_t *lock, struct hf_thread_record *self,
                                                  const struct hf_deadline *deadline, struct hf_wait *wait,
                                                  uint32_t *kept) {
    struct hf_rwscl_looks looks = {0};
    bool arrives = true;
    hf_count(self, contended);
    for (;; arrives = false) {
        hf_critical_enter(self);
        if (hf_rwscl_enter_in_time(lock)) {
            if (!arrives)
                leave_no_keeper_missing(lock, *kept);
            return 0;
        }
        hf_critical_leave(self);
        uint32_t state = hf_load_acquire(&lock->state);
        if (!hf_rwscl_keeps_readers_out(state)) // opened meanwhile
            continue;
        if (hf_rwscl_is_writers(state)) {
            if (writers_are_away(lock, self) && hf_rwscl_read_out_of_turn(lock, self))
                return 0;
            if (arrives && hf_rwscl_is_recent(hf_load_relaxed(&lock->changed_at), hf_ticks()))
                hf_store_relaxed(&lock->readers_return, 1);
        }
        if (deadline && hf_deadline_has_passed(deadline)) {
            leave_no_keeper_missing(lock, *kept);
            return ETIMEDOUT;
        }
        if (poll_state(lock, state) || !announce(lock, &state, kept))
            continue;
        hf_count(self, blocked);
        sleep_to_read(lock, state, *kept == hf_rwscl_round(state), &looks, deadline, wait);
    }
}

int hf_rwscl_wait_to_read(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock, .kept = HF_NO_ROUND};
    struct hf_wait wait = hf_wait_begin(self, hf_rwscl_shown_as(lock));
    // A woken thread that has not run yet is not away (readers_were_away).
    hf_fetch_add_relaxed(&lock->waiting_readers, 1);
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth, undo);
    int error = wait_to_read(lock, self, deadline, &wait, &leaving.kept);
    hf_left_wait_end(&leaving.left);
    hf_fetch_add_relaxed(&lock->waiting_readers, -1u);
    if (!error)
        hf_count_waited_acquisition(self);
    hf_note_wait(hf_rwscl_shown_as(lock), self, HF_STATISTICS_READ_WRITE_LOCK, &wait, !error);
    return error;
}
