// SPDX-License-Identifier: MIT OR Apache-2.0
// A reader-writer lock that prefers readers or writers, with FlexGuard's way of waiting: spin while every holder runs,
// sleep from the moment one does not. Beyond the paper, which has mutexes only.
//
// The state word:
//
//     bits 4..31   READERS: those that hold the lock, and, while a writer holds it, those that wait for its end
//     bit 3        WRITERS_FIRST   a writer waits, in a lock that prefers writers: no reader gets in before it
//     bit 2        READERS_SLEEP   readers may sleep
//     bit 1        WRITERS_SLEEP   writers may sleep
//     bit 0        WRITER          a writer holds the lock
//
//                   reader: + 1                          writer: CAS from no reader, no writer
//     FREE --------------------------> READING       FREE ---------------------------> WRITING
//          <--------------------------                    <---------------------------
//                   reader: - 1                                writer: clears WRITER
//
//     WRITING, a reader adds itself and waits; the writer clears WRITER: READING, and each counted reader is inside.
//     Where writers are preferred it does not stay counted, but waits for a state without WRITER and WRITERS_FIRST;
//     nor while the lock is hot (read_write_batch.h).
//
// Invariants:
// rwlock.RW1 Exclusion. The thread that set WRITER is alone; a reader is inside when it is counted and WRITER is clear.
// rwlock.RW2 No writer's wake is lost. While a writer sleeps, the state is not free and has WRITERS_SLEEP, or somebody
//     is on its way to wake a writer, or a woken writer is on its way to set WRITERS_SLEEP. Hence a writer that has
//     slept takes the lock with WRITERS_SLEEP set; and a writer that leaves the lock to readers leaves the bit to them.
//     One that spins may set it, too, so that whoever leaves the lock free calls the kernel (announcements.h).
// rwlock.RW3 No reader's wake is lost. While a reader sleeps, the state has READERS_SLEEP, and WRITER or WRITERS_FIRST;
//     or the thread that has cleared the last of them is on its way to wake all readers: a writer that has left, or
//     given up waiting.
// rwlock.RW4 A writer that sets WRITERS_FIRST is counted in waiting_writers until it waits no more, and the last one
//     clears the bit after that. Hence it does not outlast the writers. rwlock.RW2 and RW3 hold since all sleep on the
//     state word itself, as it was when it said that somebody would wake them: the kernel lets nobody fall asleep on a
//     state that is not there any more. Modelled in verify/lock/read_write_lock.pml.
// word.I4  Release is the last touch, as in park/word_lock.h: after it the next user may free the memory.
#ifndef HF_LOCK_POSIX_READ_WRITE_STATE_H
#define HF_LOCK_POSIX_READ_WRITE_STATE_H

#include <errno.h>

#include "base/check.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/waiter_queue.h"
#include "park/futex.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_rw_state {
    HF_RW_WRITER = 1,
    HF_RW_WRITERS_SLEEP = 2,
    HF_RW_READERS_SLEEP = 4,
    HF_RW_WRITERS_FIRST = 8,
    HF_RW_READER = 16,
};

// With so many readers further ones are refused (EAGAIN); as many again may be on their way to find out.
#define HF_RW_READERS_FULL (1u << 31)

// Zeroed memory is a free lock.
struct hf_rw_lock {
    union {
        struct {
            uint32_t state;
            hf_release_count releases; // advice: read_write_batch.h
            uint16_t carry;            // of releases
        };
        uint64_t state_and_releases; // one instruction releases and counts
    };
    hf_queue_tail writers;       // those that spin
    uint32_t waiting_writers;    // spinning or asleep, if the lock prefers writers
    hf_release_count cold_since; // what releases were when somebody found the lock cold
};

#define HF_RW_ONE_RELEASE (UINT64_C(1) << 32)
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the state is to be the lower half of state_and_releases"
#endif

static inline bool hf_rw_is_free(uint32_t state) {
    return !(state & HF_RW_WRITER) && state < HF_RW_READER;
}

void hf_rw_wake_writer(const struct hf_rw_lock *lock) __attribute__((cold, visibility("hidden")));
void hf_rw_wake_readers(const struct hf_rw_lock *lock) __attribute__((cold, visibility("hidden")));

// Begins to read: the caller is counted as a reader and critical. What the state was says whether it holds the lock
// now; if not, it has to wait (hf_rw_wait_to_read) or to give up what it has begun (hf_rw_read_release).
static inline uint32_t hf_rw_read_begin(struct hf_rw_lock *lock, struct hf_thread_record *self) {
    hf_critical_enter_for(self, &lock->state);
    // Acquire: pairs with the release of the last writer.
    return hf_fetch_add_acquire(&lock->state, HF_RW_READER);
}

static inline bool hf_rw_is_full(uint32_t was) {
    return was >= HF_RW_READERS_FULL;
}

static inline bool hf_rw_has_begun(uint32_t was) {
    return !(was & (HF_RW_WRITER | HF_RW_WRITERS_FIRST | HF_RW_READERS_FULL));
}

// Takes the lock for reading if no writer has it or is to have it first. Returns 0, EBUSY or EAGAIN.
static inline int hf_rw_read_try_acquire(struct hf_rw_lock *lock, struct hf_thread_record *self) {
    hf_critical_enter_for(self, &lock->state);
    uint32_t state = hf_load_relaxed(&lock->state);
    while (hf_rw_has_begun(state)) {
        if (hf_cas_acquire_or_load(&lock->state, &state, state + HF_RW_READER))
            return 0;
    }
    hf_critical_leave(self);
    return hf_rw_is_full(state) ? EAGAIN : EBUSY;
}

static inline bool hf_rw_write_try_acquire(struct hf_rw_lock *lock, struct hf_thread_record *self) {
    hf_critical_enter_for(self, &lock->state);
    // Acquire: pairs with the release of the last writer and of every reader since.
    uint32_t state = hf_load_relaxed(&lock->state);
    while (hf_rw_is_free(state)) {
        if (hf_cas_acquire_or_load(&lock->state, &state, state | HF_RW_WRITER))
            return true;
    }
    hf_critical_leave(self);
    return false;
}

// Is it held for writing? Asked by a holder only: then the answer says how the caller holds it.
static inline bool hf_rw_is_written(const struct hf_rw_lock *lock) {
    return hf_load_relaxed(&lock->state) & HF_RW_WRITER;
}

static inline void hf_rw_read_release(struct hf_rw_lock *lock, struct hf_thread_record *self) {
    uint32_t state = hf_load_relaxed(&lock->state);
    bool wake;
    // The last reader clears what it can say with the same store that gives the lock back; another reader that is
    // faster only leaves the bit to later unlocks.
    if (hf_rw_is_free(state - HF_RW_READER) && (state & HF_RW_WRITERS_SLEEP) &&
        hf_cas_release(&lock->state, state, (state - HF_RW_READER) & ~(uint32_t)HF_RW_WRITERS_SLEEP)) {
        wake = true;
    } else {
        uint64_t was = hf_fetch_add_release(&lock->state_and_releases, HF_RW_ONE_RELEASE - HF_RW_READER);
        state = (uint32_t)was - HF_RW_READER;
        wake = (state & HF_RW_WRITERS_SLEEP) && hf_rw_is_free(state);
    }
    hf_critical_leave(self);
    if (HF_UNLIKELY(wake))
        hf_rw_wake_writer(lock);
}

static inline void hf_rw_write_release(struct hf_rw_lock *lock, struct hf_thread_record *self) {
    uint64_t was = hf_load_relaxed(&lock->state_and_releases);
    uint32_t state, left;
    do {
        state = (uint32_t)was;
        HF_CHECK("rwlock.RW1", state & HF_RW_WRITER);
        left = state & ~(uint32_t)HF_RW_WRITER;
        // To readers: WRITERS_SLEEP stays for the last of them (rwlock.RW2). Free: the writer that is woken sets it
        // again.
        if (hf_rw_is_free(left))
            left &= ~(uint32_t)HF_RW_WRITERS_SLEEP;
        // Readers that are not the next sleep on.
        if (!(left & HF_RW_WRITERS_FIRST))
            left &= ~(uint32_t)HF_RW_READERS_SLEEP;
    } while (!hf_cas_release_or_load(&lock->state_and_releases, &was, was - state + left + HF_RW_ONE_RELEASE));
    hf_critical_leave(self);
    uint32_t cleared = state & ~left;
    if (HF_UNLIKELY(cleared & HF_RW_READERS_SLEEP))
        hf_rw_wake_readers(lock);
    if (HF_UNLIKELY(cleared & HF_RW_WRITERS_SLEEP))
        hf_rw_wake_writer(lock);
}

#ifdef __cplusplus
}
#endif

#endif
