// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers of RW-SCL: how they wait for the word, and how who has it changes whose slice it is. States and invariants:
// rwscl_state.h.
#include <errno.h>
#include <limits.h>

#include "hint/patience.h"
#include "lock/flexguard_lock.h"
#include "lock/rwscl_slice.h"
#include "lock/rwscl_state.h"
#include "park/deadline.h"

enum {
    HF_FRONT_POLLS = 1 << 10, // for the slice's end, before it sleeps: some tens of microseconds
    HF_DRAIN_POLLS = 1 << 12, // for the last reader
};

// Begins another round, in which the slice is the readers', and wakes those that wait (RS3, RS5).
static void begin_round(hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    // Release: pairs with the acquire of readers that find it so, which then look at gates that are open.
    while (!hf_cas_release_or_load(&lock->state, &state, (state & ~(HF_RWSCL_ROUND - 1u)) + HF_RWSCL_ROUND))
        continue;
    if (state & HF_RWSCL_READERS_WAIT)
        hf_futex_wake_kind(&lock->state, INT_MAX, HF_RWSCL_SLEEPS_TO_READ);
}

// Opens the gates, through which `inside` readers have come already.
static void let_readers_in(hf_rwscl_t *lock, int32_t inside) {
    // Nobody adds to a closed gate, and what has been subtracted from it was also subtracted from `draining`: plain
    // stores. Release: pairs with the acquire in hf_gate_enter.
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        hf_store_release(&lock->gates[node].readers, node == 0 ? (uint32_t)inside * HF_GATE_READER : 0);
    begin_round(lock);
}

void hf_rwscl_open(hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    struct hf_rwscl_weights weights = hf_rwscl_weights_of(lock);
    uint64_t now = hf_ticks(), ticks = hf_rwscl_slice_ticks(lock, weights.readers, weights.writers);
    HF_CHECK("RS1", hf_rwscl_is_writers(state) && hf_load_relaxed(&lock->draining) == 0);
    if (state & HF_RWSCL_READERS_WAIT)
        ticks += hf_rwscl_overrun(lock, hf_load_relaxed(&lock->waited_since), now) * weights.readers / weights.writers;
    hf_store_relaxed(&lock->slice_end, now + ticks);
    hf_store_relaxed(&lock->changed_at, now);
    let_readers_in(lock, 0);
}

// Closes the gates. True when nobody was inside.
static bool close_gates(hf_rwscl_t *lock) {
    // Before the gates: a reader that finds one closed finds the state so, or already another round.
    hf_fetch_or_acq_rel(&lock->state, HF_RWSCL_WRITERS | HF_RWSCL_FRONT);
    int32_t inside = 0;
    // Acquire: pairs with the release of the readers that have left by this gate.
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        inside += hf_gate_count(hf_fetch_or_acq_rel(&lock->gates[node].readers, HF_GATE_CLOSED));
    uint32_t counted = (uint32_t)inside * HF_DRAIN_READER;
    return hf_drain_count(hf_fetch_add_acq_rel(&lock->draining, counted) + counted) == 0;
}

// The last reader has left. `waited_since`: when the front writer came.
static void begin_writing(hf_rwscl_t *lock, uint64_t waited_since) {
    struct hf_rwscl_weights weights = hf_rwscl_weights_of(lock);
    uint64_t now = hf_ticks(), ticks = hf_rwscl_slice_ticks(lock, weights.writers, weights.readers);
    ticks += hf_rwscl_overrun(lock, waited_since, now) * weights.writers / weights.readers;
    HF_CHECK("RS1", hf_drain_count(hf_load_relaxed(&lock->draining)) == 0);
    hf_store_relaxed(&lock->draining, 0); // nobody is left who would touch it
    hf_store_relaxed(&lock->slice_end, now + ticks);
    hf_store_relaxed(&lock->changed_at, now);
    hf_store_relaxed(&lock->written_at, now);
    hf_fetch_and_acq_rel(&lock->state, ~(uint32_t)(HF_RWSCL_FRONT | HF_RWSCL_OVER)); // RS5
}

// Gives up the drain. False when the last reader has left meanwhile, after all.
static bool undo_drain(hf_rwscl_t *lock) {
    int32_t inside = hf_drain_count(hf_exchange_acq_rel(&lock->draining, 0));
    if (inside == 0)
        return false;
    // One that has found its gate closed may still subtract itself from `draining`: the sum stays right (RS1).
    let_readers_in(lock, inside);
    return true;
}

static int drain(hf_rwscl_t *lock, struct hf_thread_record *self, uint64_t waited_since,
                 const struct hf_deadline *deadline) {
    struct hf_patience patience = {.polls_left = HF_DRAIN_POLLS};
    bool done = close_gates(lock);
    while (!done) {
        // Acquire, here and below: pairs with the release of each reader that leaves.
        uint32_t draining = hf_load_acquire(&lock->draining);
        done = hf_drain_count(draining) == 0;
        if (done || hf_patience_left(&patience))
            continue;
        draining = hf_fetch_or_acquire(&lock->draining, HF_DRAIN_FRONT_SLEEPS) | HF_DRAIN_FRONT_SLEEPS; // RS2
        done = hf_drain_count(draining) == 0;
        if (done)
            break;
        if (deadline && hf_deadline_has_passed(deadline)) {
            if (undo_drain(lock))
                return ETIMEDOUT;
            break;
        }
        hf_critical_leave(self);
        hf_count(self, blocked);
        hf_futex_wait(&lock->draining, draining, deadline);
        hf_critical_enter(self);
    }
    begin_writing(lock, waited_since);
    return 0;
}

static int32_t readers_inside(const hf_rwscl_t *lock) {
    int32_t inside = 0;
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        inside += hf_gate_count(hf_load_relaxed(&lock->gates[node].readers));
    return inside;
}

// When the front writer comes: will the readers stay away? Advice, as the two below.
static bool readers_stay_away(const hf_rwscl_t *lock, const struct hf_thread_record *self) {
    if (readers_inside(lock) != 0 || hf_load_relaxed(&lock->waiting_readers) != 0)
        return false;
    if (!hf_load_relaxed(&lock->readers_return))
        return true;
    for (uint32_t node = hf_numa_nodes(); node-- > 0;) {
        uint32_t last = hf_load_relaxed(&lock->gates[node].last_reader);
        if (last != 0 && last != hf_tid(self)) // who reads next will not be who now wants to write
            return false;
    }
    return true;
}

// Have the readers stayed away since then?
static bool readers_were_away(hf_rwscl_t *lock, uint64_t since, uint64_t now) {
    if (readers_inside(lock) != 0 || hf_load_relaxed(&lock->waiting_readers) != 0 || hf_rwscl_is_recent(since, now))
        return false;
    for (uint32_t node = hf_numa_nodes(); node-- > 0;) {
        if (hf_rwscl_is_recent(hf_load_relaxed(&lock->gates[node].seen_ticks), now))
            return false;
    }
    hf_store_relaxed(&lock->readers_return, 0);
    return true;
}

// The front writer gives up before it has closed the gates.
static void withdraw(hf_rwscl_t *lock) {
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        hf_fetch_and_acq_rel(&lock->gates[node].readers, ~(uint32_t)HF_GATE_TIMED);
    begin_round(lock);
}

// Not critical: nobody waits for who waits for a slice.
static int await_slice_end(hf_rwscl_t *lock, uint64_t since, const struct hf_deadline *deadline) {
    struct hf_rwscl_looks looks = {0};
    struct hf_patience patience = {.polls_left = HF_FRONT_POLLS};
    hf_fetch_or_acq_rel(&lock->state, HF_RWSCL_FRONT);
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        hf_fetch_or_acq_rel(&lock->gates[node].readers, HF_GATE_TIMED);
    for (;;) {
        uint32_t state = hf_load_relaxed(&lock->state);
        uint64_t now = hf_ticks();
        if ((state & HF_RWSCL_OVER) || hf_rwscl_slice_is_over(lock, now) || readers_were_away(lock, since, now))
            return 0;
        if (deadline && hf_deadline_has_passed(deadline)) {
            withdraw(lock);
            return ETIMEDOUT;
        }
        if (hf_patience_left(&patience))
            continue;
        hf_hint_look_again();
        struct hf_deadline look = hf_deadline_or_in(deadline, hf_rwscl_next_look_ns(&looks, lock)); // RS2
        hf_futex_wait_as(&lock->state, state, &look, HF_RWSCL_SLEEPS_IN_FRONT);
    }
}

int hf_rwscl_wait_in_front(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    uint64_t since = hf_ticks();
    if (hf_rwscl_is_recent(hf_load_relaxed(&lock->changed_at), since))
        hf_store_relaxed(&lock->writers_return, 1);
    if (!hf_rwscl_slice_is_over(lock, since) && !readers_stay_away(lock, self)) {
        hf_critical_leave(self);
        hf_count(self, contended);
        int error = await_slice_end(lock, since, deadline);
        hf_critical_enter(self);
        if (error)
            return error;
    }
    return drain(lock, self, since, deadline);
}

bool hf_rwscl_write_out_of_turn(hf_rwscl_t *lock) {
    if (readers_inside(lock) != 0) // closing the gates would disturb them for nothing
        return false;
    if (!close_gates(lock) && undo_drain(lock))
        return false;
    begin_writing(lock, hf_ticks());
    return true;
}

// Asleep from the start: the word's owner waits for a slice.
static int sleep_for_word(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_wait wait = hf_wait_begin(self);
    int error = 0;
    hf_count(self, contended);
    do {
        hf_critical_enter(self);
        if (hf_exchange_acquire(&lock->word, HF_WORD_HELD_WITH_SLEEPERS) == HF_WORD_FREE) { // I2
            hf_count_waited_acquisition(self);
            break;
        }
        hf_critical_leave(self);
        hf_count(self, blocked);
        hf_hint_look_again();
        hf_wait_falls_asleep(&wait);
        error = hf_futex_wait(&lock->word, HF_WORD_HELD_WITH_SLEEPERS, deadline);
        hf_wait_awakes(&wait);
    } while (error != ETIMEDOUT);
    bool acquired = error != ETIMEDOUT;
    hf_note_wait(&lock->word, self, HF_STATISTICS_READ_WRITE_LOCK, &wait, acquired);
    return acquired ? 0 : ETIMEDOUT;
}

int hf_rwscl_wait_for_word(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    // Who was woken and has not run yet is not away (writers_are_away).
    hf_fetch_add_relaxed(&lock->waiting_writers, 1);
    int error = hf_rwscl_is_writers(hf_load_relaxed(&lock->state))
                    ? hf_flexguard_wait(&lock->word, &lock->spinners, &lock->releases, self, deadline)
                    : sleep_for_word(lock, self, deadline);
    hf_fetch_add_relaxed(&lock->waiting_writers, -1u);
    return error;
}
