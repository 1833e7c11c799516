// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of spinning waiters: its head polls the lock word. It is an MCS queue that any waiter may leave at any
// time.
//
// The queue is advice. Exclusion and wake-ups rest on the lock word alone (word.I1 and I2, park/word_lock.h), so a
// waiter that believes to be the head although it is not, or waits for a predecessor that has gone, costs time and
// nothing else:
//
// queue.I3  Immortal nodes. A record that was ever in a queue stays mapped and stays a record. Late stores hit it at
//     two places: a predecessor's hand-over, a compare-and-swap that only turns WAITING into HEAD; and a slow
//     successor's link in `next`, which is only ever used to hand over.
// queue.I5  Bounded waiting in the queue. Every loop in here ends after a set number of polls, whatever others do or
//     fail to do: a hand-over that was lost (its giver did not wait for the link; it was killed; it stayed behind at
//     fork) costs the waiter its spin budget, after which it leaves the queue and sleeps on the word.
#ifndef HF_LOCK_WAIT_WAITER_QUEUE_H
#define HF_LOCK_WAIT_WAITER_QUEUE_H

#include "base/pause.h"
#include "lock/wait/tuning.h"
#include "thread/thread_record.h"

// The last one's record, and which process it is of, in the bits that no record's address has: those of its alignment
// and the upper 16. A mutex that is process-private and used by two processes all the same, as glibc lets pass that
// merely loses wakes, has a tail whose address means something else here, or nothing: it is not followed. NULL: nobody.
typedef struct hf_thread_record *hf_queue_tail;

#define HF_QUEUE_PROCESS_MASK (UINT64_MAX << 48 | (HF_CACHE_LINE_BYTES - 1))

// As it stands in the tail. Where the process is not known (a sandbox, the first constructors) the bits are 0.
static inline hf_queue_tail hf_queue_place(struct hf_thread_record *self) {
    return (hf_queue_tail)((char *)self + hf_load_relaxed(&hf_process_tag));
}

// NULL: nobody, or another process's.
static inline struct hf_thread_record *hf_queue_record(hf_queue_tail tail) {
    uintptr_t tag = hf_load_relaxed(&hf_process_tag);
    bool is_ours = tail != NULL && ((uintptr_t)tail & HF_QUEUE_PROCESS_MASK) == tag;
    return is_ours ? (struct hf_thread_record *)((char *)tail - tag) : NULL;
}

// A thread is in one queue at most. It is in none when IDLE: only then may it enter.
static inline bool hf_queue_may_enter(const struct hf_thread_record *self) {
    // Atomic, since a late hand-over may look at it at this moment.
    return hf_load_relaxed(&self->critical.queue_state) == HF_QUEUE_IDLE;
}

static inline void hf_queue_enter(hf_queue_tail *tail, struct hf_thread_record *self) {
    hf_store_relaxed(&self->next, NULL);
    hf_store_relaxed(&self->critical.queue_state, HF_QUEUE_WAITING);
    // Release: whoever finds us through the tail finds our `next` cleared. Acquire: pairs with the predecessor's
    // release.
    struct hf_thread_record *before = hf_queue_record(hf_exchange_acq_rel(tail, hf_queue_place(self)));
    // Ourselves we meet only if a signal handler left this function by longjmp, which POSIX does not allow.
    if (before == NULL || before == self)
        hf_store_relaxed(&self->critical.queue_state, HF_QUEUE_HEAD);
    else
        hf_store_release(&before->next, self); // pairs with the acquire in hf_queue_leave
}

static inline bool hf_queue_is_head(const struct hf_thread_record *self) {
    // Acquire: pairs with the hand-over in hf_queue_leave.
    return hf_load_acquire(&self->critical.queue_state) == HF_QUEUE_HEAD;
}

// Leaves from anywhere in the queue and hands the head to the successor, if there is one.
static inline void hf_queue_leave(hf_queue_tail *tail, struct hf_thread_record *self) {
    // While the tail is ours nobody is behind us, whatever a late link has put into `next`: so the tail decides first.
    hf_queue_tail place = hf_queue_place(self);
    bool last = hf_load_relaxed(tail) == place && hf_cas_release(tail, place, NULL);
    struct hf_thread_record *after = NULL;
    if (!last) {
        for (int polls = 0; polls < HF_QUEUE_LINK_POLLS; polls++) {
            after = hf_load_acquire(&self->next);
            if (after)
                break;
            hf_timed_pause();
        }
    }
    // Not critical any more by its place in the queue; a leaver that has got the lock is so by its depth.
    hf_store_relaxed(&self->critical.queue_state, HF_QUEUE_IDLE);
    if (after)
        hf_cas_release(&after->critical.queue_state, HF_QUEUE_WAITING, HF_QUEUE_HEAD);
}

#endif
