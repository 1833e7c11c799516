// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL (Patel et al., EuroSys '20, section 4.3): FlexGuard at the word, and slices before it.
//
//             in the caller's own slice                      word free, or FlexGuard's wait
//   lock() ------------------------------------------------------------------------------------> inside
//      |                                                                                      ^
//      | no slice, or another class's                                     begins its slice    |
//      +------------------------------> in the queue of slices ---------> PENDING: to the word +
//                                       asleep until chosen      chosen
//
//   unlock(): counts the section; if the slice is over and somebody waits, chooses; then gives the word back
//
// Until two threads have met at it, a lock is a FlexGuard lock without a queue: no slices, no clock.
// A signal handler that has interrupted its own thread in here goes to the word, and is not counted; so does a
// real-time thread.
// Invariants: word.I1, I2, I4 in park/word_lock.h; queue.I3, I5 in waiter_queue.h; uscl.U1 to U8 in slices.h.
// Model: verify/lock/uscl.pml.
#include "lock/scl/uscl_lock.h"

#include <errno.h>

#include "lock/scl/begun_slices.h"
#include "lock/scl/thread_class.h"
#include "thread/left_wait.h"
#include "thread/realtime.h"

static uint32_t default_slice_us = 2000;

// What a chosen waiter is told of the releases: that there are none. Whose slice is over does not come back for the
// word, so there is nobody to leave it to. Within a slice, threads of one class do come back, and see the true count.
static const hf_release_count not_counted;

static uint64_t slice_ticks_of(struct hf_uscl_parts lock) {
    uint32_t option = hf_load_relaxed(lock.options) & HF_USCL_SLICE_BITS;
    uint32_t slice_us = option ? option - 1 : hf_load_relaxed(&default_slice_us);
    return hf_ticks_of_ns(slice_us * 1000.0);
}

// Under the guard.
static void take_options_over(struct hf_uscl_parts lock, struct hf_slices *slices) {
    uint32_t options = hf_load_relaxed(lock.options);
    slices->work_conserving = (options & HF_USCL_WORK_CONSERVING) != 0;
    slices->inactive_ms = (uint16_t)(options >> HF_USCL_INACTIVE_SHIFT);
}

// Under the word. What a class of several threads has used is nobody's alone.
static void note_held(const uint32_t *word, struct hf_share *share, struct hf_thread_record *self) {
    if (!hf_statistics_are_on() || hf_load_relaxed(&share->thread) != self)
        return;
    hf_note_held(word, self, hf_load_relaxed(&share->held));
    hf_store_relaxed(&share->held, 0);
}

// Of the caller, which has the word. It may have been on its way to it for so long that its class was forgotten here,
// and the share that it had is another's (uscl.U4); from here on nobody forgets it. Under the guard. NULL: there is no
// memory.
static struct hf_share *hold_own_share(struct hf_slices *slices, struct hf_thread_record *self, uint64_t now) {
    struct hf_share *share = hf_slices_share_of(slices, self, now);
    if (share)
        hf_store_relaxed(&share->last_seen, now);
    hf_uscl_hold(slices, share, now);
    return share;
}

// The same, without the guard.
static void hold_after_wait(struct hf_slices *slices, struct hf_thread_record *self) {
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    hold_own_share(slices, self, hf_ticks());
    hf_slices_unlock(slices, self, &saved);
}

static void begin_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_thread_record *self) {
    uint64_t now = hf_ticks();
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    struct hf_share *share = hold_own_share(slices, self, now);
    hf_slice_wake woken = share ? hf_slices_begin(slices, share, now, slice_ticks_of(lock)) : NULL;
    hf_slices_unlock(slices, self, &saved);
    hf_slice_wake_up(woken);
    if (!share)
        return;
    note_held(lock.word, share, self); // what it had alone, slice after slice
    hf_begun_slices_add(slices, self);
    now = hf_ticks();
    hf_timing_begin_slice(&slices->timing, share, now, hf_load_relaxed(&slices->slice_end));
    hf_store_relaxed(&slices->untimed, 0);
    hf_uscl_hold(slices, share, now);
}

static void give_up_slice(struct hf_slices *slices, struct hf_share *share, struct hf_thread_record *self) {
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    bool is_own = hf_load_relaxed(&share->own_class) == self->share_class; // not another's by now (uscl.U4)
    hf_slice_wake woken =
        is_own && !hf_slices_lock_is_gone(slices) ? hf_slices_give_up(slices, share, hf_ticks()) : NULL;
    hf_slices_unlock(slices, self, &saved);
    hf_slice_wake_up(woken);
}

// The caller's class is chosen: to the word, and begins its slice there. Returns 0 or ETIMEDOUT.
static int take_word(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                     struct hf_thread_record *self, const struct hf_deadline *deadline) {
    // A thread that real-time threads go before waits as others do, which do not take a word that is just free.
    int error = hf_realtime_is_expected()
                    ? hf_flexguard_wait(lock.word, &slices->spinners, &not_counted, self, deadline, HF_WORD_HELD)
                    : hf_flexguard_acquire(lock.word, &slices->spinners, &not_counted, self, deadline);
    if (error)
        give_up_slice(slices, share, self);
    else
        begin_slice(lock, slices, self);
    return error;
}

// A work-conserving lock that is free: true with the lock held.
static bool take_idle_word(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                           struct hf_thread_record *self) {
    if (!slices->work_conserving || hf_load_relaxed(lock.word) != HF_WORD_FREE ||
        !hf_flexguard_try_acquire(lock.word, self))
        return false;
    hf_uscl_hold(slices, share, hf_ticks());
    return true;
}

// A section that is not counted: there is no memory, or slices are closed to the caller. It still excludes.
static int acquire_uncounted(struct hf_uscl_parts lock, struct hf_thread_record *self,
                             const struct hf_deadline *deadline) {
    uint32_t depth = self->critical.critical_depth;
    hf_critical_enter(self);
    int error = hf_word_lock_or_leave(lock.word, self, depth, deadline, NULL);
    if (error)
        hf_critical_leave(self);
    else
        hf_count_waited_acquisition(self);
    return error;
}

// A real-time thread is not made to wait for a slice, as the kernel's fair scheduler lets it pass. Nor does it pay:
// what it uses counts for no share.
static int acquire_without_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_thread_record *self,
                                 const struct hf_deadline *deadline) {
    return hf_flexguard_acquire(lock.word, &slices->spinners, &not_counted, self, deadline);
}

struct leaving {
    struct hf_left_wait left;
    struct hf_slices *slices;
    struct hf_slice_waiter waiter; // has a share from when it joins, until it leaves; both under the guard, hence with
                                   // signals blocked
};

// Chosen by now or not, it does not come (uscl.U2, U3).
static void undo(struct hf_left_wait *left) {
    struct leaving *leaving = (struct leaving *)left;
    struct hf_slices *slices = leaving->slices;
    if (!leaving->waiter.share)
        return;
    sigset_t saved;
    hf_slices_lock(slices, left->self, &saved);
    bool chosen = leaving->waiter.wake_word & HF_WAKE_CHOSEN;
    hf_slice_wake woken = chosen ? NULL : hf_slices_leave(slices, &leaving->waiter, hf_ticks());
    hf_slices_unlock(slices, left->self, &saved);
    hf_slice_wake_up(woken);
    if (chosen)
        give_up_slice(slices, leaving->waiter.share, left->self);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

// Waits in the queue of slices, then at the word.
static int wait_for_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_slice_waiter *waiter,
                          struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_wait wait = hf_wait_begin(self, lock.word);
    hf_count(self, contended);
    int error = hf_slices_await(slices, waiter, self, deadline, &wait);
    if (wait.sleeps)
        hf_count(self, blocked);
    if (!error)
        error = take_word(lock, slices, waiter->share, self, deadline);
    hf_note_wait(lock.word, self, HF_STATISTICS_MUTEX, &wait, !error);
    return error;
}

static __attribute__((noinline)) int join_slices(struct hf_uscl_parts lock, struct hf_slices *slices,
                                                 struct hf_thread_record *self, const struct hf_deadline *deadline,
                                                 struct leaving *leaving) {
    struct hf_slice_waiter *waiter = &leaving->waiter;
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    uint64_t now = hf_ticks();
    struct hf_share *share = hf_slices_share_of(slices, self, now);
    take_options_over(lock, slices);
    bool has_slice = hf_uscl_own_slice(slices, self, now);
    bool has_word = share && !has_slice && take_idle_word(lock, slices, share, self);
    if (!share || has_slice || has_word) {
        hf_slices_unlock(slices, self, &saved);
        if (has_word)
            return 0;
        if (!share)
            return acquire_uncounted(lock, self, deadline);
        bool acquired = hf_flexguard_try_acquire(lock.word, self);
        if (!acquired && hf_flexguard_wait_in_slice(lock.word, &slices->spinners, &slices->releases, self, deadline))
            return ETIMEDOUT;
        hold_after_wait(slices, self);
        return 0;
    }
    waiter->share = share;
    hf_slice_wake woken = hf_slices_join(slices, waiter, now);
    hf_slices_unlock(slices, self, &saved);
    if (woken != &waiter->wake_word)
        hf_slice_wake_up(woken);
    if (hf_load_acquire(&waiter->wake_word) & HF_WAKE_CHOSEN)
        return take_word(lock, slices, share, self, deadline);
    return wait_for_slice(lock, slices, waiter, self, deadline);
}

// In a frame of its own: a thread that leaves goes through this one.
static int join_until_done_or_left(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_thread_record *self,
                                   const struct hf_deadline *deadline) {
    // Others wait for what it holds: it must not be made to wait for what it has used here, and waits for what is held.
    __attribute__((cleanup(unwound))) struct leaving leaving = {
        .slices = slices, .waiter = {.never_banned = self->critical.critical_depth > 0}};
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth, undo);
    hf_slices_enter(self);
    int error = join_slices(lock, slices, self, deadline, &leaving);
    hf_slices_exit(self);
    hf_left_wait_end(&leaving.left);
    return error;
}

static int acquire_by_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_thread_record *self,
                            const struct hf_deadline *deadline) {
    if (hf_slices_are_closed_to(self))
        return acquire_uncounted(lock, self, deadline);
    if (HF_UNLIKELY(hf_load_relaxed(&slices->lock) != lock.word)) { // moved here in memory
        slices = hf_slices_of(lock.word, lock.slices, self);
        if (!slices)
            return acquire_uncounted(lock, self, deadline);
    }
    if (HF_UNLIKELY(hf_realtime_priority() != 0))
        return acquire_without_slice(lock, slices, self, deadline);
    hf_thread_follow_name(self);
    int error = join_until_done_or_left(lock, slices, self, deadline);
    // POSIX: a timed lock takes what is free at its end, whosever the slice is.
    return error && hf_futex_is_there(lock.word) && hf_uscl_try_acquire(lock, self) ? 0 : error;
}

int hf_uscl_meet(struct hf_uscl_parts lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_slices *slices = hf_slices_are_closed_to(self) ? NULL : hf_slices_of(lock.word, lock.slices, self);
    return slices ? acquire_by_slice(lock, slices, self, deadline) : acquire_uncounted(lock, self, deadline);
}

int hf_uscl_wait(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                 struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (!share)
        return acquire_by_slice(lock, slices, self, deadline);
    // Held meanwhile: by another thread of the class, or one that has tried or stayed in.
    if (hf_flexguard_wait_in_slice(lock.word, &slices->spinners, &slices->releases, self, deadline))
        return ETIMEDOUT;
    hold_after_wait(slices, self);
    return 0;
}

bool hf_uscl_try_acquire(struct hf_uscl_parts lock, struct hf_thread_record *self) {
    if (!hf_flexguard_try_acquire(lock.word, self))
        return false;
    struct hf_slices *slices = hf_load_acquire(lock.slices);
    if (!slices || hf_slices_are_closed_to(self))
        return true;
    uint64_t now = hf_ticks();
    struct hf_share *share = hf_uscl_own_slice(slices, self, now);
    if (!share) {
        sigset_t saved;
        hf_thread_follow_name(self);
        hf_slices_lock(slices, self, &saved);
        share = hold_own_share(slices, self, now);
        hf_slices_unlock(slices, self, &saved);
    }
    hf_uscl_hold(slices, share, now);
    return true;
}

hf_slice_wake hf_uscl_end_slice(struct hf_uscl_parts lock, struct hf_slices *slices, struct hf_share *share,
                                struct hf_thread_record *self, uint64_t now) {
    note_held(lock.word, share, self);
    hf_store_relaxed(&slices->untimed, 0);
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    hf_slice_wake woken = hf_slices_choose(slices, now);
    hf_slices_unlock(slices, self, &saved);
    return woken;
}

void hf_uscl_count_overtime(struct hf_slices *slices, struct hf_share *share) {
    // Acquire: pairs with the release in set_state (slices.c), before which the time is stored.
    if (hf_load_acquire(&slices->owner) == share)
        return;
    uint64_t now = hf_ticks();
    hf_share_charge(share, now - hf_load_relaxed(&slices->taken_at));
    hf_store_relaxed(&share->last_seen, now);
}

// The caller's class, of a section that is counted; NULL: it was the parent's, and this a child. Under the guard.
static struct hf_share *stop_counting(struct hf_slices *slices, uint64_t now) {
    struct hf_share *untimed = hf_load_relaxed(&slices->untimed_holder);
    if (!untimed)
        return hf_uscl_count_section(slices, now);
    hf_store_relaxed(&untimed->last_seen, now);
    hf_store_relaxed(&slices->untimed_holder, NULL);
    return untimed;
}

void hf_uscl_stand_aside(struct hf_uscl_parts lock, struct hf_thread_record *self) {
    struct hf_slices *slices = hf_load_acquire(lock.slices);
    if (!slices || hf_slices_are_closed_to(self) ||
        (!hf_load_relaxed(&slices->holder) && !hf_load_relaxed(&slices->untimed_holder)))
        return;
    uint64_t now = hf_ticks();
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    struct hf_share *share = stop_counting(slices, now);
    // A class of several threads has others, which may go on.
    bool leaves = share && share->thread == self;
    if (leaves)
        hf_store_relaxed(&slices->untimed, 0); // what it does when it is back is not in this slice
    hf_slice_wake woken = leaves ? hf_slices_retire(slices, share, now) : hf_slices_choose(slices, now);
    hf_slices_unlock(slices, self, &saved);
    hf_slice_wake_up(woken);
}

void hf_uscl_give_back(struct hf_uscl_parts lock, struct hf_thread_record *self) {
    struct hf_slices *slices = hf_load_acquire(lock.slices);
    if (slices && !hf_slices_are_closed_to(self))
        hf_slices_give_back(slices, lock.word, self);
}

void hf_uscl_use_slice(uint32_t slice_us) {
    hf_store_relaxed(&default_slice_us, slice_us);
}
