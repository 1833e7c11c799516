// SPDX-License-Identifier: MIT OR Apache-2.0
// States and invariants: read_write_state.h.
#include "lock/posix/read_write_lock.h"

#include <limits.h>

#include "lock/posix/announcements.h"
#include "lock/posix/read_write_batch.h"
#include "lock/wait/realtime_waiters.h"
#include "lock/wait/spin_budget.h"
#include "observe/observation.h"
#include "thread/left_wait.h"

// Kinds of sleepers on the state word.
enum { HF_RW_SLEEPS_TO_READ = 1, HF_RW_SLEEPS_TO_WRITE = 2 };

void hf_rw_wake_writer(const struct hf_rw_lock *lock) {
    hf_futex_wake_kind(&lock->state, 1, HF_RW_SLEEPS_TO_WRITE);
}

void hf_rw_wake_readers(const struct hf_rw_lock *lock) {
    hf_futex_wake_kind(&lock->state, INT_MAX, HF_RW_SLEEPS_TO_READ);
}

static int sleep_on(const struct hf_rw_lock *lock, uint32_t state, const struct hf_deadline *deadline, uint32_t kind,
                    struct hf_wait *wait) {
    hf_wait_falls_asleep(wait);
    int error = hf_futex_wait_as(&lock->state, state, deadline, kind);
    hf_wait_awakes(wait);
    return error;
}

// What a waiter has begun, for when it leaves without return.
struct leaving {
    struct hf_left_wait left;
    struct hf_rw_lock *lock;
    struct hf_wait wait;
    bool reads; // it is counted as a reader, which may be inside
    bool first; // as a writer that readers stay behind
    struct hf_realtime_waiter realtime;
};

// Its place among real-time threads; NULL: it is none.
static const struct hf_realtime_waiter *realtime_of(const struct leaving *leaving) {
    return leaving->realtime.word ? &leaving->realtime : NULL;
}

static inline void give_way(const struct hf_rw_lock *lock, const struct hf_realtime_waiter *realtime) {
    hf_realtime_give_way(&lock->state, hf_rw_is_free, realtime);
}

// The reader is not counted any more when this is true. False: the writer was faster, and the reader is inside.
static bool stop_being_counted(struct hf_rw_lock *lock) {
    uint32_t state = hf_load_acquire(&lock->state); // acquire: the caller may be inside
    while (state & HF_RW_WRITER) {
        if (hf_cas_acquire_or_load(&lock->state, &state, state - HF_RW_READER))
            return true;
    }
    return false;
}

// Of a reader that is counted, as it is again when it has to go on waiting (EBUSY). Returns 0 with the lock held, EBUSY
// or EAGAIN.
static int read_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                        struct leaving *leaving) {
    if (!hf_rw_may_be_had_in_turn(lock) || hf_realtime_priority() != 0)
        return EBUSY;
    if (!stop_being_counted(lock))
        return EBUSY; // but only until it looks: the writer was faster
    hf_store_relaxed(&leaving->reads, false);
    hf_critical_leave(self);
    if (hf_rw_take_in_turn(lock, self, HF_RW_TO_READ, deadline, &leaving->wait))
        return 0;
    uint32_t was = hf_rw_read_begin(lock, self);
    hf_store_relaxed(&leaving->reads, true);
    if (hf_rw_has_begun(was))
        return 0;
    if (!hf_rw_is_full(was))
        return EBUSY;
    hf_store_relaxed(&leaving->reads, false);
    hf_rw_read_release(lock, self);
    return EAGAIN;
}

// A waiter that spins stays critical, as the next one of a queue is: once the writer has gone it is a holder, and the
// others must not spin for a holder that does not run. One that sleeps is not: it would make everybody sleep.
static int wait_to_read(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                        struct leaving *leaving) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, &lock->releases);
    for (;;) {
        // Acquire, here and below: pairs with the writer's release. Once WRITER is clear it stays so: we are counted.
        do {
            if (!(hf_load_acquire(&lock->state) & HF_RW_WRITER)) {
                hf_count(self, spun);
                return 0;
            }
        } while (hf_spin_budget_left(&budget));
        uint32_t state = hf_fetch_or_acquire(&lock->state, HF_RW_READERS_SLEEP) | HF_RW_READERS_SLEEP;
        if (!(state & HF_RW_WRITER))
            return 0;
        hf_critical_leave(self);
        hf_count(self, blocked);
        hf_hint_look_again();
        int error = sleep_on(lock, state, deadline, HF_RW_SLEEPS_TO_READ, &leaving->wait);
        hf_critical_enter(self);
        if (error == ETIMEDOUT && stop_being_counted(lock)) {
            hf_store_relaxed(&leaving->reads, false);
            hf_critical_leave(self);
            return ETIMEDOUT;
        }
    }
}

// Not critical: a thread that is behind writers will not be a holder before it has run again.
static int wait_behind_writers(struct hf_rw_lock *lock, struct hf_thread_record *self,
                               const struct hf_deadline *deadline, struct hf_wait *wait) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, &lock->releases);
    bool slept = false;
    for (;;) {
        do {
            if (hf_load_relaxed(&lock->state) & (HF_RW_WRITER | HF_RW_WRITERS_FIRST))
                continue;
            int error = hf_rw_read_try_acquire(lock, self);
            if (error == 0 && !slept)
                hf_count(self, spun);
            if (error != EBUSY)
                return error;
        } while (hf_spin_budget_left(&budget));
        uint32_t state = hf_fetch_or_acquire(&lock->state, HF_RW_READERS_SLEEP) | HF_RW_READERS_SLEEP;
        if (!(state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST)))
            continue;
        hf_count(self, blocked);
        hf_hint_look_again();
        if (sleep_on(lock, state, deadline, HF_RW_SLEEPS_TO_READ, wait) == ETIMEDOUT)
            return ETIMEDOUT;
        slept = true;
    }
}

// Takes the lock for reading, whoever is to have it first. Returns 0, EBUSY or EAGAIN.
static int read_out_of_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, uint32_t kept,
                            const struct hf_realtime_waiter *realtime) {
    if (hf_load_relaxed(&lock->state) & HF_RW_WRITER)
        return EBUSY;
    give_way(lock, realtime);
    hf_critical_enter(self);
    uint32_t state = hf_load_relaxed(&lock->state);
    while (!(state & HF_RW_WRITER) && !hf_rw_is_full(state)) {
        if (hf_cas_acquire_or_load(&lock->state, &state, (state + HF_RW_READER) | kept))
            return 0;
    }
    hf_critical_leave(self);
    return hf_rw_is_full(state) ? EAGAIN : EBUSY;
}

// A real-time thread that reads goes before writers that do not go before it. It sleeps as one of them, so a wake that
// it has had is one that a writer needs; and as a writer does that leaves the lock to readers (rwlock.RW2), it leaves
// WRITERS_SLEEP to the last of them.
static int wait_before_writers(struct hf_rw_lock *lock, struct hf_thread_record *self,
                               const struct hf_deadline *deadline, struct leaving *leaving) {
    uint32_t kept = 0;
    for (;;) {
        struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, &lock->releases);
        do {
            int error = read_out_of_turn(lock, self, kept, &leaving->realtime);
            if (error != EBUSY)
                return error;
        } while (hf_spin_budget_left(&budget));
        uint32_t state = hf_load_relaxed(&lock->state);
        if (!(state & HF_RW_WRITER) || !hf_cas_acquire_or_load(&lock->state, &state, state | HF_RW_WRITERS_SLEEP))
            continue;
        kept = HF_RW_WRITERS_SLEEP;
        hf_count(self, blocked);
        hf_hint_look_again();
        if (sleep_on(lock, state | HF_RW_WRITERS_SLEEP, deadline, HF_RW_SLEEPS_TO_WRITE, &leaving->wait) == ETIMEDOUT)
            return ETIMEDOUT;
    }
}

static bool try_to_write(struct hf_rw_lock *lock, struct hf_thread_record *self, uint32_t written,
                         const struct hf_realtime_waiter *realtime) {
    if (!hf_rw_is_free(hf_load_relaxed(&lock->state)))
        return false;
    give_way(lock, realtime);
    uint32_t state = hf_load_relaxed(&lock->state);
    if (!hf_rw_is_free(state))
        return false;
    hf_critical_enter(self);
    if (hf_cas_acquire(&lock->state, state, state | written))
        return true;
    hf_critical_leave(self);
    return false;
}

// The state says then that writers sleep, as if this one did.
static void announce(struct hf_rw_lock *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    if (!hf_rw_is_free(state))
        hf_cas_relaxed(&lock->state, state, state | HF_RW_WRITERS_SLEEP);
}

// The head of the writers that spin polls the state, the others poll their records (lock/wait/waiter_queue.h).
static bool spin_to_write(struct hf_rw_lock *lock, struct hf_thread_record *self, uint32_t written) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, &lock->releases);
    struct hf_rw_announcements announcements = hf_rw_announcements_begin(budget.polls_left, &lock->releases);
    bool acquired = false;
    hf_queue_enter(&lock->writers, self);
    do {
        if (!hf_queue_is_head(self))
            continue;
        acquired = try_to_write(lock, self, written, NULL);
        if (!acquired && hf_rw_announces(&announcements, budget.polls_left, &lock->releases))
            announce(lock);
    } while (!acquired && hf_spin_budget_left(&budget));
    hf_queue_leave(&lock->writers, self);
    return acquired;
}

// A real-time thread stands in no queue.
static bool spin_before_others(struct hf_rw_lock *lock, struct hf_thread_record *self, uint32_t written,
                               const struct hf_realtime_waiter *realtime) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, &lock->releases);
    struct hf_rw_announcements announcements = hf_rw_announcements_begin(budget.polls_left, &lock->releases);
    bool acquired;
    do {
        acquired = try_to_write(lock, self, written, realtime);
        if (!acquired && hf_rw_announces(&announcements, budget.polls_left, &lock->releases))
            announce(lock);
    } while (!acquired && hf_spin_budget_left(&budget));
    return acquired;
}

// Takes the lock, or says to those who have it what there is to announce: then *state is what to sleep on.
static bool acquire_or_announce(struct hf_rw_lock *lock, struct hf_thread_record *self, uint32_t announced,
                                uint32_t *state) {
    hf_critical_enter(self);
    *state = hf_load_relaxed(&lock->state);
    for (;;) {
        uint32_t wanted = *state | announced | (hf_rw_is_free(*state) ? HF_RW_WRITER : 0);
        if (wanted == *state)
            break;
        if (!hf_cas_acquire_or_load(&lock->state, state, wanted))
            continue;
        if (hf_rw_is_free(*state))
            return true;
        *state = wanted;
        break;
    }
    hf_critical_leave(self);
    return false;
}

static int wait_to_write(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                         uint32_t announced, struct leaving *leaving) {
    const struct hf_realtime_waiter *realtime = realtime_of(leaving);
    uint32_t written = HF_RW_WRITER, state;
    for (;;) {
        if (hf_spinning_pays() && (realtime || hf_queue_may_enter(self))) {
            if (realtime ? spin_before_others(lock, self, written, realtime) : spin_to_write(lock, self, written)) {
                hf_count(self, spun);
                return 0;
            }
            hf_count(self, mode_switches);
        }
        // rwlock.RW2: with WRITERS_SLEEP, whether this one has slept or not.
        give_way(lock, realtime);
        if (acquire_or_announce(lock, self, announced | HF_RW_WRITERS_SLEEP, &state))
            return 0;
        written = HF_RW_WRITER | HF_RW_WRITERS_SLEEP; // rwlock.RW2
        hf_count(self, blocked);
        hf_hint_look_again();
        if (sleep_on(lock, state, deadline, HF_RW_SLEEPS_TO_WRITE, &leaving->wait) == ETIMEDOUT)
            return ETIMEDOUT;
    }
}

// Each that comes to be first has set the bit before, and the last one clears it after (rwlock.RW4): hence acquire and
// release. One that comes to wait between the two loses the bit, and sets it again before it sleeps; or sleeps already,
// and is woken to do so.
static void stop_being_first(struct hf_rw_lock *lock, bool has_lock) {
    if (hf_fetch_sub_acq_rel(&lock->waiting_writers, 1) != 1)
        return;
    // A writer that has the lock leaves the readers to its release.
    uint32_t cleared = HF_RW_WRITERS_FIRST | (has_lock ? 0 : HF_RW_READERS_SLEEP);
    uint32_t state = hf_fetch_and_acq_rel(&lock->state, ~cleared);
    if (state & cleared & HF_RW_READERS_SLEEP)
        hf_rw_wake_readers(lock);
    if (!has_lock && (state & HF_RW_WRITERS_SLEEP))
        hf_rw_wake_writer(lock);
}

static int wait_to_write_first(struct hf_rw_lock *lock, struct hf_thread_record *self,
                               const struct hf_deadline *deadline, struct leaving *leaving) {
    hf_fetch_add_relaxed(&lock->waiting_writers, 1);
    hf_store_relaxed(&leaving->first, true);
    hf_fetch_or_acquire(&lock->state, HF_RW_WRITERS_FIRST);
    int error = wait_to_write(lock, self, deadline, HF_RW_WRITERS_FIRST, leaving);
    hf_store_relaxed(&leaving->first, false);
    stop_being_first(lock, !error);
    return error;
}

// A writer may be the one that was woken: another one goes on in its place (rwlock.RW2).
static void undo(struct hf_left_wait *left) {
    struct leaving *leaving = (struct leaving *)left;
    if (left->was_unqueued && !hf_queue_may_enter(left->self))
        hf_queue_leave(&leaving->lock->writers, left->self);
    if (leaving->reads && !stop_being_counted(leaving->lock))
        hf_rw_read_release(leaving->lock, left->self); // it was inside
    if (leaving->first)
        stop_being_first(leaving->lock, false);
    hf_realtime_leave(&leaving->realtime);
    hf_rw_wake_writer(leaving->lock);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

// `depth`: the caller's without the lock.
static void begin(struct leaving *leaving, struct hf_thread_record *self, uint32_t depth) {
    leaving->wait = hf_wait_begin(self, &leaving->lock->state);
    hf_count(self, contended);
    hf_left_wait_begin(&leaving->left, self, depth, undo);
}

static void begin_as_one_of_many(struct leaving *leaving, struct hf_thread_record *self) {
    begin(leaving, self, self->critical.critical_depth);
    unsigned priority = hf_realtime_priority();
    if (HF_UNLIKELY(priority != 0))
        hf_realtime_join(&leaving->realtime, &leaving->lock->state, priority);
}

static bool takes_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use,
                          const struct hf_deadline *deadline, struct leaving *leaving) {
    return hf_rw_may_be_had_in_turn(lock) && !realtime_of(leaving) &&
           hf_rw_take_in_turn(lock, self, use, deadline, &leaving->wait);
}

static int ended(int error, struct leaving *leaving) {
    hf_realtime_leave(&leaving->realtime);
    hf_left_wait_end(&leaving->left);
    hf_note_wait(&leaving->lock->state, leaving->left.self, HF_STATISTICS_READ_WRITE_LOCK, &leaving->wait, !error);
    return error;
}

// In frames of their own: a thread that leaves goes through the ones below.

static __attribute__((noinline)) int read_after_all(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                                    const struct hf_deadline *deadline, struct leaving *leaving) {
    int error = read_in_turn(lock, self, deadline, leaving);
    return error == EBUSY ? wait_to_read(lock, self, deadline, leaving) : error;
}

static __attribute__((noinline)) int read_behind_writers(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                                         const struct hf_deadline *deadline, struct leaving *leaving) {
    if (HF_UNLIKELY(realtime_of(leaving) != NULL))
        return wait_before_writers(lock, self, deadline, leaving);
    bool in_turn = takes_in_turn(lock, self, HF_RW_TO_READ, deadline, leaving);
    return in_turn ? 0 : wait_behind_writers(lock, self, deadline, &leaving->wait);
}

static __attribute__((noinline)) int write_after_all(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                                     const struct hf_deadline *deadline, struct leaving *leaving) {
    bool in_turn = takes_in_turn(lock, self, HF_RW_TO_WRITE, deadline, leaving);
    return in_turn ? 0 : wait_to_write(lock, self, deadline, 0, leaving);
}

static __attribute__((noinline)) int write_first(struct hf_rw_lock *lock, struct hf_thread_record *self,
                                                 const struct hf_deadline *deadline, struct leaving *leaving) {
    bool in_turn = takes_in_turn(lock, self, HF_RW_TO_WRITE_FIRST, deadline, leaving);
    return in_turn ? 0 : wait_to_write_first(lock, self, deadline, leaving);
}

int hf_rw_wait_to_read(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock, .reads = true};
    begin(&leaving, self, self->critical.critical_depth - 1);
    return ended(read_after_all(lock, self, deadline, &leaving), &leaving);
}

int hf_rw_wait_behind_writers(struct hf_rw_lock *lock, struct hf_thread_record *self,
                              const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock};
    begin_as_one_of_many(&leaving, self);
    return ended(read_behind_writers(lock, self, deadline, &leaving), &leaving);
}

int hf_rw_wait_to_write(struct hf_rw_lock *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock};
    begin_as_one_of_many(&leaving, self);
    return ended(write_after_all(lock, self, deadline, &leaving), &leaving);
}

int hf_rw_wait_to_write_first(struct hf_rw_lock *lock, struct hf_thread_record *self,
                              const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock};
    begin_as_one_of_many(&leaving, self);
    return ended(write_first(lock, self, deadline, &leaving), &leaving);
}
