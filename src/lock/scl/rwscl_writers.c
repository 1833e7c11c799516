// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers of RW-SCL: how the owner of the word changes whose slice it is. States and invariants: rwscl_state.h; waiting
// for the word: rwscl_word.c.
#include <errno.h>
#include <limits.h>

#include "base/system_call.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_slice.h"
#include "lock/scl/rwscl_state.h"
#include "lock/wait/spin_budget.h"
#include "park/deadline.h"
#include "thread/left_wait.h"

enum {
    HF_FRONT_POLLS = 1 << 10, // for the slice's end, before it sleeps: some tens of microseconds
    HF_DRAIN_POLLS = 1 << 12, // for the last reader
};

// How long the first drain may last (rwscl.RS6). Longer than threads usually wait for a CPU, so that it is rare.
#define HF_DRAIN_NS 50000000ull
#define HF_DRAIN_NS_MAX (HF_DRAIN_NS << 20)

// Begins another round, in which the slice is the readers', and wakes those that wait (rwscl.RS3, RS5), and a writer
// that may come to the front.
static void begin_round(hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    // Release: pairs with the acquire of readers that find it so, which then look at gates that are open.
    while (!hf_cas_release_or_load(&lock->state, &state, (state & ~(HF_RWSCL_ROUND - 1u)) + HF_RWSCL_ROUND))
        continue;
    if (state & HF_RWSCL_READERS_WAIT)
        hf_futex_wake_kind(&lock->state, INT_MAX, HF_RWSCL_SLEEPS_TO_READ);
    if (hf_load_relaxed(&lock->waiting_writers) != 0)
        hf_futex_wake_kind(&lock->state, 1, HF_RWSCL_SLEEPS_FOR_A_TIME);
}

// Opens the gates, through which `inside` readers have come already.
static void let_readers_in(hf_rwscl_t *lock, int32_t inside) {
    // Nobody adds to a closed gate, and what has been subtracted from it was also subtracted from `draining`: plain
    // stores. Release: pairs with the acquire in hf_gate_enter.
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        hf_store_release(&lock->gates[node].readers, node == 0 ? (uint32_t)inside * HF_GATE_READER : 0);
    begin_round(lock);
}

// The readers' slice begins now, and is longer by so much.
static void give_readers_time(hf_rwscl_t *lock, struct hf_rwscl_weights weights, uint64_t now, uint64_t more) {
    uint64_t ticks = hf_rwscl_slice_ticks(lock, weights.readers, weights.writers);
    hf_store_relaxed(&lock->slice_end, now + ticks + more);
    hf_store_relaxed(&lock->changed_at, now);
}

void hf_rwscl_open(hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    struct hf_rwscl_weights weights = hf_rwscl_weights_of(lock);
    uint64_t now = hf_ticks(), more = 0;
    HF_CHECK("rwscl.RS1", hf_rwscl_is_writers(state) && hf_load_relaxed(&lock->draining) == 0);
    if (state & HF_RWSCL_READERS_WAIT) {
        more = hf_rwscl_overrun(lock, hf_load_relaxed(&lock->waited_since), now) * weights.readers / weights.writers;
        hf_store_relaxed(&lock->readers_return, 1); // they wait, also where they have not run since they had to leave
    }
    give_readers_time(lock, weights, now, more);
    hf_store_relaxed(&lock->ender_ran_us, UINT64_MAX);
    let_readers_in(lock, 0);
}

struct hf_rwscl_own_time hf_rwscl_own_time_now(void) {
    struct rusage usage = {0}; // so it seems that it has not run where the kernel does not tell
    hf_sys_getrusage(RUSAGE_THREAD, &usage);
    uint64_t s = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    return (struct hf_rwscl_own_time){
        .ran_us = s * 1000000 + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .sleeps = (uint32_t)usage.ru_nvcsw,
    };
}

void hf_rwscl_end_slice(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_rwscl_open(lock);
    // After the wakes, which take time of its own. While the word is ours, hence nobody else stores these.
    struct hf_rwscl_own_time own = hf_rwscl_own_time_now();
    hf_store_relaxed(&lock->last_writer, self->tid);
    hf_store_relaxed(&lock->ender_sleeps, own.sleeps);
    hf_store_relaxed(&lock->ender_ran_us, own.ran_us);
}

// Has the caller, which comes to the front now, wanted to come back ever since the readers' slice began? So has the
// writer that ended the writers' and has hardly run since then, nor slept: those that it woke have had its CPU.
static bool has_come_back(const hf_rwscl_t *lock, const struct hf_thread_record *self, uint64_t now) {
    uint64_t ran_us = hf_load_relaxed(&lock->ender_ran_us);
    if (hf_rwscl_is_recent(hf_load_relaxed(&lock->changed_at), now))
        return true;
    if (ran_us == UINT64_MAX || hf_load_relaxed(&lock->last_writer) != hf_tid(self))
        return false;
    struct hf_rwscl_own_time own = hf_rwscl_own_time_now();
    return own.sleeps == hf_load_relaxed(&lock->ender_sleeps) && own.ran_us - ran_us < HF_RWSCL_IDLE_US;
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

// Has a reader asked for the lock within the idle time? Only a thread that finds its gate timed leaves a trace.
static bool readers_were_seen(const hf_rwscl_t *lock, uint64_t now) {
    for (uint32_t node = hf_numa_nodes(); node-- > 0;) {
        if (hf_rwscl_is_recent(hf_load_relaxed(&lock->gates[node].seen_ticks), now))
            return true;
    }
    return false;
}

// Readers had to leave, or were about to come back: they wait from now on, whether they have run since or not.
static void say_readers_wait(hf_rwscl_t *lock, uint64_t now) {
    if (hf_load_relaxed(&lock->state) & HF_RWSCL_READERS_WAIT)
        return;
    hf_store_relaxed(&lock->waited_since, now);
    hf_fetch_or_acq_rel(&lock->state, HF_RWSCL_READERS_WAIT);
}

// The last reader has left. `waited_since`: when the front writer came.
static void begin_writing(hf_rwscl_t *lock, uint64_t waited_since) {
    struct hf_rwscl_weights weights = hf_rwscl_weights_of(lock);
    uint64_t now = hf_ticks(), ticks = hf_rwscl_slice_ticks(lock, weights.writers, weights.readers);
    ticks += hf_rwscl_overrun(lock, waited_since, now) * weights.writers / weights.readers;
    HF_CHECK("rwscl.RS1", hf_drain_count(hf_load_relaxed(&lock->draining)) == 0);
    hf_store_relaxed(&lock->draining, 0); // nobody is left who would touch it
    hf_store_relaxed(&lock->slice_end, now + ticks);
    hf_store_relaxed(&lock->changed_at, now);
    hf_store_relaxed(&lock->written_at, now);
    hf_fetch_and_acq_rel(&lock->state, ~(uint32_t)(HF_RWSCL_FRONT | HF_RWSCL_OVER)); // rwscl.RS5
}

// Gives up the drain. False when the last reader has left meanwhile, after all.
static bool undo_drain(hf_rwscl_t *lock) {
    int32_t inside = hf_drain_count(hf_exchange_acq_rel(&lock->draining, 0));
    if (inside == 0)
        return false;
    // One that has found its gate closed may still subtract itself from `draining`, or add itself: the sum stays right
    // (rwscl.RS1).
    let_readers_in(lock, inside);
    return true;
}

// Returns 0 when the last reader has left; or, with the drain undone, ETIMEDOUT, or EAGAIN: it has lasted for longer
// than so long (rwscl.RS6).
static int await_last_reader(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                             uint64_t drain_ns_max, struct hf_rwscl_wait *wait) {
    struct hf_spin_budget budget = {.polls_left = HF_DRAIN_POLLS};
    struct hf_deadline end = hf_deadline_or_in(deadline, drain_ns_max);
    for (;;) {
        // Acquire, here and below: pairs with the release of each reader that leaves.
        uint32_t draining = hf_load_acquire(&lock->draining);
        if (hf_drain_count(draining) == 0)
            return 0;
        if (hf_spin_budget_left(&budget))
            continue;
        draining = hf_fetch_or_acquire(&lock->draining, HF_DRAIN_FRONT_SLEEPS) | HF_DRAIN_FRONT_SLEEPS; // rwscl.RS2
        if (hf_drain_count(draining) == 0)
            return 0;
        if (hf_deadline_has_passed(&end)) {
            if (!undo_drain(lock))
                return 0;
            return deadline && hf_deadline_has_passed(deadline) ? ETIMEDOUT : EAGAIN;
        }
        hf_critical_leave(self);
        hf_count(self, blocked);
        hf_wait_falls_asleep(&wait->wait);
        hf_futex_wait(&lock->draining, draining, &end);
        hf_wait_awakes(&wait->wait);
        hf_critical_enter(self);
    }
}

// What the front writer has begun.
enum in_front { IN_FRONT_NOTHING, IN_FRONT_FOR_SLICE, IN_FRONT_FOR_READERS };

struct leaving {
    struct hf_left_wait left;
    hf_rwscl_t *lock;
    uint32_t began; // enum in_front
};

// As hf_rwscl_wait_in_front, or EAGAIN.
static int drain(hf_rwscl_t *lock, struct hf_thread_record *self, uint64_t waited_since,
                 const struct hf_deadline *deadline, uint64_t drain_ns_max, struct hf_rwscl_wait *wait,
                 uint32_t *began) {
    bool empty = close_gates(lock);
    if (!empty) {
        hf_rwscl_wait_begins(lock, wait, self);
        hf_store_relaxed(began, IN_FRONT_FOR_READERS);
        int error = await_last_reader(lock, self, deadline, drain_ns_max, wait);
        hf_store_relaxed(began, IN_FRONT_NOTHING);
        if (error)
            return error;
    }
    uint64_t now = hf_ticks();
    if (!empty || readers_were_seen(lock, now))
        say_readers_wait(lock, now);
    begin_writing(lock, waited_since);
    return 0;
}

// When the front writer comes: will the readers stay away? Advice, as the two below.
static bool readers_stay_away(const hf_rwscl_t *lock, const struct hf_thread_record *self) {
    if (hf_rwscl_readers_inside(lock) != 0 || hf_load_relaxed(&lock->waiting_readers) != 0)
        return false;
    if (!hf_load_relaxed(&lock->readers_return))
        return true;
    for (uint32_t node = hf_numa_nodes(); node-- > 0;) {
        uint32_t last = hf_load_relaxed(&lock->gates[node].last_reader);
        if (last != 0 && last != hf_tid(self)) // it won't be the next to read
            return false;
    }
    return true;
}

// Have the readers stayed away since then?
static bool readers_were_away(hf_rwscl_t *lock, uint64_t since, uint64_t now) {
    if (hf_rwscl_readers_inside(lock) != 0 || hf_load_relaxed(&lock->waiting_readers) != 0 ||
        hf_rwscl_is_recent(since, now) || readers_were_seen(lock, now))
        return false;
    hf_store_relaxed(&lock->readers_return, 0);
    return true;
}

// The front writer gives up before it has closed the gates.
static void withdraw(hf_rwscl_t *lock) {
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        hf_fetch_and_acq_rel(&lock->gates[node].readers, ~(uint32_t)HF_GATE_TIMED);
    begin_round(lock);
}

// Not critical: nobody waits for a thread that waits for a slice.
static __attribute__((noinline)) int await_slice_end(hf_rwscl_t *lock, struct hf_thread_record *self, uint64_t since,
                                                     const struct hf_deadline *deadline, struct hf_rwscl_wait *wait) {
    struct hf_rwscl_looks looks = {0};
    struct hf_spin_budget budget = {.polls_left = HF_FRONT_POLLS};
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
        if (hf_spin_budget_left(&budget))
            continue;
        hf_hint_look_again();
        struct hf_deadline look = hf_deadline_or_in(deadline, hf_rwscl_next_look_ns(&looks, lock)); // rwscl.RS2
        hf_count(self, blocked);
        hf_wait_falls_asleep(&wait->wait);
        hf_futex_wait_as(&lock->state, state, &look, HF_RWSCL_SLEEPS_IN_FRONT);
        hf_wait_awakes(&wait->wait);
    }
}

// Leaves with the word, and the slice.
static void undo(struct hf_left_wait *left) {
    struct leaving *leaving = (struct leaving *)left;
    hf_rwscl_t *lock = leaving->lock;
    if (leaving->began == IN_FRONT_FOR_SLICE)
        withdraw(lock);
    else if (leaving->began == IN_FRONT_FOR_READERS && !undo_drain(lock))
        begin_writing(lock, hf_ticks()); // the last reader has left after all
    hf_flexguard_release_fenced(&lock->word, &lock->releases, left->self);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

static __attribute__((noinline)) int wait_in_front(hf_rwscl_t *lock, struct hf_thread_record *self,
                                                   const struct hf_deadline *deadline, struct hf_rwscl_wait *wait,
                                                   uint32_t *began) {
    uint64_t came = hf_ticks(), now = came, since = came;
    if (has_come_back(lock, self, came)) {
        since = hf_load_relaxed(&lock->changed_at);
        hf_store_relaxed(&lock->writers_return, 1);
    }
    for (uint64_t drain_ns_max = HF_DRAIN_NS;; drain_ns_max *= drain_ns_max < HF_DRAIN_NS_MAX ? 2 : 1) {
        int error = 0;
        if (!hf_rwscl_slice_is_over(lock, now) && !readers_stay_away(lock, self)) {
            hf_critical_leave(self);
            hf_rwscl_wait_begins(lock, wait, self);
            hf_store_relaxed(began, IN_FRONT_FOR_SLICE);
            error = await_slice_end(lock, self, came, deadline, wait);
            hf_store_relaxed(began, IN_FRONT_NOTHING);
            hf_critical_enter(self);
        }
        if (!error)
            error = drain(lock, self, since, deadline, drain_ns_max, wait, began);
        if (error != EAGAIN)
            return error;
        // The gates are open, and nobody looks at the time before this thread asks for that again. Those who wait need
        // time to come in, however short a slice is.
        now = hf_ticks();
        give_readers_time(lock, hf_rwscl_weights_of(lock), now, hf_rwscl_ticks_of_us((double)drain_ns_max / 1000));
    }
}

int hf_rwscl_wait_in_front(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                           struct hf_rwscl_wait *wait) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.lock = lock, .began = IN_FRONT_NOTHING};
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth - 1, undo);
    int error = wait_in_front(lock, self, deadline, wait, &leaving.began);
    hf_left_wait_end(&leaving.left);
    return error;
}

bool hf_rwscl_write_out_of_turn(hf_rwscl_t *lock) {
    if (hf_rwscl_readers_inside(lock) != 0) // closing the gates would disturb them for nothing
        return false;
    if (!close_gates(lock) && undo_drain(lock))
        return false;
    begin_writing(lock, hf_ticks());
    return true;
}
