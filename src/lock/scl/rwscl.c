// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL: the ways in and out that need not wait. States and invariants: rwscl_state.h; how long slices are:
// rwscl_slice.h; waiting: rwscl_readers.c, rwscl_word.c and rwscl_writers.c.
//
//   read_lock():   own node's gate + 1, if it is neither closed nor timed ---> inside; else hf_rwscl_wait_to_read
//   read_unlock(): the gate where the reader is then - 1; if that is closed, `draining` - 1
//   write_lock():  takes the word; in the writers' slice it is inside; else hf_rwscl_wait_in_front
//   write_unlock(): if readers wait and the slice is over, or nobody else uses it, opens the gates; gives the word back
#include "holdfast/rwscl.h"

#include <errno.h>

#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_slice.h"
#include "lock/scl/rwscl_state.h"
#include "park/deadline.h"

_Static_assert((int)HF_RWSCL_GATES == (int)HF_NUMA_NODES_MAX, "a gate for each node");
_Static_assert(sizeof(hf_rwscl_t) == 640, "as holdfast/rwscl.h says");

void hf_rwscl_init(hf_rwscl_t *lock) {
    hf_rwscl_t fresh = HF_RWSCL_INIT;
    *lock = fresh;
}

int hf_rwscl_set_ratio(hf_rwscl_t *lock, uint32_t readers, uint32_t writers) {
    if (readers < 1 || readers > HF_RWSCL_WEIGHT_MAX || writers < 1 || writers > HF_RWSCL_WEIGHT_MAX)
        return EINVAL;
    hf_store_relaxed(&lock->weights, readers << 16 | writers);
    return 0;
}

int hf_rwscl_set_slice(hf_rwscl_t *lock, uint32_t slice_us) {
    if (slice_us > HF_RWSCL_SLICE_US_MAX)
        return EINVAL;
    hf_store_relaxed(&lock->slice, slice_us + 1);
    return 0;
}

static __attribute__((noinline, cold)) int note_free(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_note_free(hf_rwscl_shown_as(lock), self, HF_STATISTICS_READ_WRITE_LOCK);
    return 0;
}

// Without having waited.
static inline int finish(hf_rwscl_t *lock, struct hf_thread_record *self) {
    return HF_UNLIKELY(hf_count_acquisition(self)) ? note_free(lock, self) : 0;
}

static inline int read_acquire(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_rwscl_gate *gate = hf_rwscl_own_gate(lock);
    hf_critical_enter(self);
    if (HF_LIKELY(!(hf_load_relaxed(&gate->readers) & HF_GATE_TIMED)) ? hf_gate_enter(gate)
                                                                      : hf_rwscl_enter_in_time(lock))
        return finish(lock, self);
    hf_critical_leave(self);
    return hf_rwscl_wait_to_read(lock, self, deadline);
}

void hf_rwscl_read_lock(hf_rwscl_t *lock) {
    read_acquire(lock, hf_self(), NULL);
}

bool hf_rwscl_read_trylock(hf_rwscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    hf_critical_enter(self);
    if (HF_LIKELY(hf_gate_enter(hf_rwscl_own_gate(lock)))) {
        finish(lock, self);
        return true;
    }
    hf_critical_leave(self);
    if (!hf_rwscl_read_out_of_turn(lock, self))
        return false;
    finish(lock, self);
    return true;
}

bool hf_rwscl_read_again(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_critical_enter(self);
    if (hf_rwscl_enter_again(lock)) {
        finish(lock, self);
        return true;
    }
    hf_critical_leave(self);
    return false;
}

int hf_rwscl_read_clocklock(hf_rwscl_t *lock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (HF_UNLIKELY(!hf_deadline_is_valid(&deadline)))
        return hf_rwscl_read_trylock(lock) ? 0 : EINVAL;
    int error = read_acquire(lock, hf_self(), &deadline);
    // What is free at the deadline is taken, whosever the slice is.
    return error && hf_rwscl_read_trylock(lock) ? 0 : error;
}

// By a closed gate. The last one wakes the front writer if it sleeps (rwscl.RS2).
static __attribute__((noinline, cold)) void leave_drain(hf_rwscl_t *lock) {
    // Release: pairs with the front writer's acquire. The last touch (word.I4): it has the lock after the last
    // reader's.
    uint32_t left = hf_fetch_sub_release(&lock->draining, HF_DRAIN_READER) - HF_DRAIN_READER;
    if ((left & HF_DRAIN_FRONT_SLEEPS) && hf_drain_count(left) == 0)
        hf_futex_wake(&lock->draining, 1);
}

void hf_rwscl_read_unlock(hf_rwscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    struct hf_rwscl_gate *gate = hf_rwscl_own_gate(lock);
    hf_store_relaxed(&gate->last_reader, self->tid);
    // Release: pairs with the acquire in close_gates, or, if it comes after that, counts for nothing.
    if (HF_UNLIKELY(hf_fetch_sub_release(&gate->readers, HF_GATE_READER) & HF_GATE_CLOSED))
        leave_drain(lock);
    hf_critical_leave(self);
}

// For the monitor it is this lock that its holder keeps from others, whatever they wait for.
static inline bool take_word(hf_rwscl_t *lock, struct hf_thread_record *self) {
    hf_critical_enter_for(self, hf_rwscl_shown_as(lock));
    if (HF_LIKELY(hf_word_trylock(&lock->word, HF_WORD_HELD)))
        return true;
    hf_critical_leave(self);
    return false;
}

// Relaxed: only a thread that has the word, as the caller, changes WRITERS and FRONT. Whether readers wait may be seen
// late, by the timekeeper's look at the latest (rwscl.RS4).
static inline bool is_simply_writers(const hf_rwscl_t *lock) {
    uint32_t state = hf_load_relaxed(&lock->state);
    return hf_rwscl_is_writers(state) && !(state & HF_RWSCL_READERS_WAIT);
}

// The caller has the word. False: the slice is the readers'. A slice is ended only for somebody who waits.
static bool is_still_writers(hf_rwscl_t *lock, struct hf_thread_record *self) {
    if (is_simply_writers(lock))
        return true;
    if (!hf_rwscl_is_writers(hf_load_relaxed(&lock->state)))
        return false;
    if (!hf_rwscl_slice_is_over(lock, hf_ticks()))
        return true;
    hf_rwscl_end_slice(lock, self);
    return false;
}

// The caller has the word. Returns 0 with the lock held, or ETIMEDOUT.
static int begin_to_write(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                          struct hf_rwscl_wait *wait) {
    do {
        if (is_still_writers(lock, self))
            return 0;
    } while (!deadline && hf_rwscl_stands_back(lock, self, wait));
    int error = hf_rwscl_wait_in_front(lock, self, deadline, wait);
    if (!error || hf_rwscl_write_out_of_turn(lock))
        return 0;
    hf_flexguard_release_fenced(&lock->word, &lock->releases, self);
    return error;
}

static __attribute__((noinline, cold)) int write_after_all(hf_rwscl_t *lock, struct hf_thread_record *self,
                                                           const struct hf_deadline *deadline, bool has_word) {
    struct hf_rwscl_wait wait = {.has_begun = false};
    int error = has_word ? 0 : hf_rwscl_wait_for_word(lock, self, deadline, &wait);
    if (!error)
        error = begin_to_write(lock, self, deadline, &wait);
    if (!wait.has_begun)
        return error ? error : finish(lock, self);
    if (!error)
        hf_count_waited_acquisition(self);
    hf_note_wait(hf_rwscl_shown_as(lock), self, HF_STATISTICS_READ_WRITE_LOCK, &wait.wait, !error);
    return error;
}

static inline int write_acquire(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    bool has_word = take_word(lock, self);
    if (HF_LIKELY(has_word && is_simply_writers(lock)))
        return finish(lock, self);
    return write_after_all(lock, self, deadline, has_word);
}

void hf_rwscl_write_lock(hf_rwscl_t *lock) {
    write_acquire(lock, hf_self(), NULL);
}

bool hf_rwscl_write_trylock(hf_rwscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    if (!take_word(lock, self))
        return false;
    if (hf_rwscl_is_writers(hf_load_relaxed(&lock->state)) || hf_rwscl_write_out_of_turn(lock)) {
        finish(lock, self);
        return true;
    }
    hf_flexguard_release_fenced(&lock->word, &lock->releases, self);
    return false;
}

int hf_rwscl_write_clocklock(hf_rwscl_t *lock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (HF_UNLIKELY(!hf_deadline_is_valid(&deadline)))
        return hf_rwscl_write_trylock(lock) ? 0 : EINVAL;
    int error = write_acquire(lock, hf_self(), &deadline);
    return error && hf_rwscl_write_trylock(lock) ? 0 : error;
}

// Readers wait.
static __attribute__((noinline, cold)) void end_slice_if_due(hf_rwscl_t *lock, struct hf_thread_record *self) {
    uint64_t now = hf_ticks();
    hf_store_relaxed(&lock->written_at, now);
    bool alone = hf_load_relaxed(&lock->waiting_writers) == 0;
    if (hf_rwscl_slice_is_over(lock, now) || (alone && !hf_load_relaxed(&lock->writers_return)))
        hf_rwscl_end_slice(lock, self);
}

void hf_rwscl_write_unlock(hf_rwscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    HF_CHECK("rwscl.RS1", hf_rwscl_is_writers(hf_load_relaxed(&lock->state)));
    hf_store_relaxed(&lock->last_writer, self->tid);
    // Relaxed: a reader that is not seen here has a timekeeper, or is one, and looks (rwscl.RS4).
    if (HF_UNLIKELY(hf_load_relaxed(&lock->state) & HF_RWSCL_READERS_WAIT))
        end_slice_if_due(lock, self);
    hf_flexguard_release_fenced(&lock->word, &lock->releases, self);
}
