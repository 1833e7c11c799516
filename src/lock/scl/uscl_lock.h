// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL's lock and unlock on a word and a pointer to slices wherever these lie: side by side in hf_uscl_t, apart inside
// pthread_mutex_t. The fast paths are here, so that the parts stay in registers: three pointers handed over by value go
// through memory, which took as long as all the rest. States and invariants: uscl_lock.c.
#ifndef HF_LOCK_SCL_USCL_LOCK_H
#define HF_LOCK_SCL_USCL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/slice_wait.h"

#ifdef __cplusplus
extern "C" {
#endif

// A lock's options. Zero: nothing was said.
//
//     bits 18..31   after how many milliseconds a class is inactive, or 0: HF_INACTIVE_MS (slices.h)
//     bit 17        work-conserving
//     bits 0..16    its slice in microseconds plus one, or 0 for the process's
enum {
    HF_USCL_SLICE_BITS = (1 << 17) - 1,
    HF_USCL_WORK_CONSERVING = 1 << 17,
    HF_USCL_INACTIVE_SHIFT = 18,
};

// Where a lock's parts are. Zero at first.
struct hf_uscl_parts {
    uint32_t *word;
    struct hf_slices **slices;
    const uint32_t *options;
};

// Takes the lock if it is free, whosever the slice is.
bool hf_uscl_try_acquire(struct hf_uscl_parts lock, struct hf_thread_record *self);

// The owner is about to give the lock back, here or by the word alone, in order to wait for a condition: what it has
// used is counted, and the rest of its slice is somebody else's. May be followed by hf_uscl_release.
void hf_uscl_stand_aside(struct hf_uscl_parts lock, struct hf_thread_record *self);

// Gives back what the lock has allocated, when nobody uses it.
void hf_uscl_give_back(struct hf_uscl_parts lock, struct hf_thread_record *self);

// The slice of locks whose options say none. Not above HF_USCL_SLICE_US_MAX.
void hf_uscl_use_slice(uint32_t slice_us);

// The ways in and out that are not inline.

// Without slices, and the word taken: two threads have met.
int hf_uscl_meet(struct hf_uscl_parts lock, struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// Not in the caller's slice (share is NULL), or the word taken although it is.
int hf_uscl_wait(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                 struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((noinline, visibility("hidden")));

// Somebody waits, and the slice is over. Returns who is to be woken when the lock is given back.
hf_slice_wake hf_uscl_end_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                                struct hf_thread_record *self, uint64_t now)
    __attribute__((noinline, visibility("hidden")));

// A section of the slice's owner that is not timed has outlasted the slice: from there on it counts all the same.
void hf_uscl_count_overtime(struct hf_slices *slices, struct hf_share *share)
    __attribute__((cold, visibility("hidden")));

// Under the word. Atomic: a thread that sums up looks at it.
static inline void hf_uscl_hold_for(struct hf_slices *slices, struct hf_share *share, uint64_t now,
                                    uint16_t stands_for) {
    hf_store_relaxed(&slices->holder, share);
    slices->section_began = now;
    slices->stands_for = stands_for;
}

// Not on the fast way in.
static inline void hf_uscl_hold(struct hf_slices *slices, struct hf_share *share, uint64_t now) {
    hf_uscl_hold_for(slices, share, now, 0);
}

// The share whose slice it is, when that is the caller's class's and runs; else NULL.
static inline struct hf_share *hf_uscl_own_slice(const struct hf_slices *slices, const struct hf_thread_record *self,
                                                 uint64_t now) {
    struct hf_share *owner = hf_load_acquire(&slices->owner);
    if (!owner || hf_load_relaxed(&owner->own_class) != self->share_class || now >= hf_load_relaxed(&slices->slice_end))
        return NULL;
    return owner;
}

// Counts the section that ends. Returns who held the lock; NULL: it is not counted.
static inline struct hf_share *hf_uscl_count_section(struct hf_slices *slices, uint64_t now) {
    struct hf_share *share = hf_load_relaxed(&slices->holder);
    if (!share)
        return NULL;
    hf_share_charge(share, hf_timing_ticks(&slices->timing, slices->section_began, now, slices->stands_for));
    hf_store_relaxed(&share->last_seen, now);
    hf_store_relaxed(&slices->holder, NULL);
    return share;
}

// Takes the lock for a section that need not be timed: in the slice of the caller's class, as far as is known without
// the clock. The slice may be over: uscl.U7.
static inline bool hf_uscl_acquire_untimed(struct hf_uscl_parts lock, struct hf_slices *slices,
                                           struct hf_thread_record *self) {
    struct hf_share *owner = hf_load_acquire(&slices->owner); // pairs with set_state (slices.c)
    if (!owner || hf_load_relaxed(&owner->own_class) != self->share_class || !hf_flexguard_try_acquire(lock.word, self))
        return false;
    uint16_t untimed = slices->untimed;
    if (HF_UNLIKELY(untimed == 0 || hf_load_relaxed(&slices->owner) != owner)) {
        hf_uscl_hold(slices, owner, hf_ticks()); // others of the class have used them up; or the slice is another's
        return true;
    }
    hf_store_relaxed(&slices->untimed, (uint16_t)(untimed - 1));
    hf_store_relaxed(&slices->untimed_holder, owner);
    return true;
}

// Takes the lock. Returns 0, or ETIMEDOUT at the deadline (NULL: none; must be valid).
__attribute__((always_inline)) static inline int
hf_uscl_acquire(struct hf_uscl_parts lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_slices *slices = hf_load_acquire(lock.slices);
    if (HF_LIKELY(!slices))
        return HF_LIKELY(hf_flexguard_try_acquire(lock.word, self)) ? 0 : hf_uscl_meet(lock, self, deadline);
    if (hf_load_relaxed(&slices->untimed) != 0 && HF_LIKELY(hf_uscl_acquire_untimed(lock, slices, self)))
        return 0;
    uint64_t now = hf_ticks();
    struct hf_share *share = hf_uscl_own_slice(slices, self, now);
    if (HF_UNLIKELY(!share || !hf_flexguard_try_acquire(lock.word, self)))
        return hf_uscl_wait(lock, slices, share, self, deadline);
    hf_uscl_hold_for(slices, share, now, slices->timing.stands_for);
    return 0;
}

// Counts the section that ends. Returns who is to be woken when the lock is given back.
static inline hf_slice_wake hf_uscl_end_section(struct hf_uscl_parts lock, struct hf_slices *slices,
                                                struct hf_thread_record *self) {
    struct hf_share *untimed = hf_load_relaxed(&slices->untimed_holder);
    if (untimed) {
        if (HF_UNLIKELY(hf_load_relaxed(&slices->owner) != untimed))
            hf_uscl_count_overtime(slices, untimed);
        hf_store_relaxed(&slices->untimed_holder, NULL);
        return NULL;
    }
    if (HF_UNLIKELY(!hf_load_relaxed(&slices->holder)))
        return NULL;
    uint64_t now = hf_ticks();
    struct hf_share *share = hf_uscl_count_section(slices, now);
    // Relaxed: a thread that has come to wait and is not seen here has seen the slice's end, or that it is over
    // (uscl.U1).
    if (HF_LIKELY(hf_load_relaxed(&slices->waiters) == 0 || now < hf_load_relaxed(&slices->slice_end)) ||
        hf_slices_are_closed_to(self)) {
        if (slices->stands_for != 0)
            hf_store_relaxed(&slices->untimed, hf_timing_next(&slices->timing, share, slices->section_began, now));
        return NULL;
    }
    return hf_uscl_end_slice(lock, slices, share, self, now);
}

// Gives the lock back.
__attribute__((always_inline)) static inline void hf_uscl_release(struct hf_uscl_parts lock,
                                                                  struct hf_thread_record *self) {
    struct hf_slices *slices = hf_load_acquire(lock.slices);
    hf_slice_wake woken = NULL;
    if (slices) {
        woken = hf_uscl_end_section(lock, slices, self);
        // While the word is ours, hence no atomic addition.
        hf_store_relaxed(&slices->releases, (hf_release_count)(slices->releases + 1));
    }
    bool sleepers = hf_word_release(lock.word);
    hf_critical_leave(self);
    struct hf_hold_end end = hf_hold_ends(lock.word, self, sleepers);
    if (HF_UNLIKELY(sleepers))
        hf_word_wake(lock.word);
    // After the release: a thread that is woken finds the word free. Neither the lock nor the waiter need be there any
    // more (word.I4, uscl.U3); the address is all that is used.
    hf_slice_wake_up(woken);
    hf_note_release(lock.word, self, end);
}

#ifdef __cplusplus
}
#endif

#endif
