// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock's slices are, in memory. States and invariants: slices.h.
#ifndef HF_LOCK_SCL_SLICES_STATE_H
#define HF_LOCK_SCL_SLICES_STATE_H

#include "lock/scl/section_timing.h"
#include "lock/scl/share.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/waiter_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of a waiter's wake word. Each appointment as timekeeper adds HF_WAKE_TIMEKEEPER, so that a waiter that goes to sleep
// just then sees it.
enum { HF_WAKE_CHOSEN = 1, HF_WAKE_TIMEKEEPER = 2 };

// One thread's wait; on its stack.
struct hf_slice_waiter {
    struct hf_slice_waiter *next;
    struct hf_slice_waiter *previous;
    struct hf_share *share;
    uint32_t wake_word;
    bool never_banned;
};

struct hf_slices {
    // Read by a thread that takes the lock, changed twice a slice.
    struct hf_share *owner;
    uint64_t slice_end; // ticks
    uint32_t waiters;
    uint32_t guard; // a lock word (park/word_lock.h)

    // Under the guard: as the lock's options said when somebody last came to wait.
    uint16_t work_conserving : 1;
    uint16_t inactive_ms : 15; // 0: HF_INACTIVE_MS

    // The holder's, under the lock's word. Of a section that is not counted there is neither of the two.
    hf_release_count releases;       // of the word
    uint16_t untimed;                // sections of the slice that are not timed before the next one is (uscl.U7)
    uint16_t stands_for;             // sections, for the one that is timed now; 0: only itself, it did not come fast
    struct hf_share *holder;         // of a section that is timed
    struct hf_share *untimed_holder; // of one that is not
    uint64_t section_began;          // ticks
    hf_queue_tail spinners;          // those that poll the word
    struct hf_section_timing timing;

    const uint32_t *lock;     // whose slices they are: its word; NULL: spare
    struct hf_slices *in_row; // in the table by address, or spare
    struct hf_slices *made_before;

    // Under the guard.
    struct hf_slice_waiter *first HF_CACHE_ALIGNED;
    struct hf_slice_waiter *last;
    struct hf_slice_waiter *timekeeper;
    uint64_t timekeeper_at; // ticks: when the timekeeper looks
    uint64_t due_at;        // ticks: PENDING, NOBODYS
    uint64_t virtual_now;   // virtual time of the last class that began a slice
    uint64_t
        taken_at; // ticks: when the last slice that had begun became somebody else's, or nobody's; no later (uscl.U8)
    struct hf_share *shares;
};

// Is the caller a signal handler that has interrupted its own thread at a guard or in a queue? Then it could wait
// for itself, and others for it: it has to go to the word without slices.
static inline bool hf_slices_are_closed_to(const struct hf_thread_record *self) {
    return self->in_slices != 0;
}

static inline void hf_slices_enter(struct hf_thread_record *self) {
    hf_store_relaxed(&self->in_slices, (uint16_t)(self->in_slices + 1)); // others look: owner_is_elsewhere
    hf_program_order();
}

// Saturates: a child forked by such a handler has another record, and comes back to where its parent was.
static inline void hf_slices_exit(struct hf_thread_record *self) {
    hf_program_order();
    hf_store_relaxed(&self->in_slices, (uint16_t)(self->in_slices - (self->in_slices != 0)));
}

#ifdef __cplusplus
}
#endif

#endif
