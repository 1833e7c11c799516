// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL (Patel et al., EuroSys '20, section 4.2): FlexGuard at the word, and slices before it.
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
// Invariants: I1, I2, I4 in park/word_lock.h; I3, I5 in flexguard_queue.h; U1 to U5 in slices.h.
// Model: verify/uscl.pml.
#include "holdfast/uscl.h"

#include <errno.h>

#include "base/clock.h"
#include "hint/hint.h"
#include "lock/flexguard_lock.h"
#include "lock/slices.h"
#include "park/deadline.h"

// In hf_uscl_t's options: the slice in microseconds plus one, or 0 for the process's; and a bit.
enum {
    HF_SLICE_OPTION = (1 << 30) - 1,
    HF_WORK_CONSERVING_OPTION = 1 << 30,
};

enum {
    HF_PREFETCH_NS =
        100 * 1000,          // a keeper that may spin is woken so long before its time (paper: next-thread prefetch)
    HF_TURN_POLLS = 1 << 10, // of a waiter that does not know when its time comes: some tens of microseconds
};

static uint32_t default_slice_us = 2000;

// Releases are not counted: an owner that comes back has its slice, and the word's queue need not leave it anything.
static const hf_release_count not_counted;

static uint64_t slice_ticks_of(const hf_uscl_t *lock) {
    uint32_t option = hf_load_relaxed(&lock->options) & HF_SLICE_OPTION;
    uint32_t slice_us = option ? option - 1 : hf_load_relaxed(&default_slice_us);
    return (uint64_t)(slice_us * 1000.0 / hf_tick_ns_by_now());
}

static bool is_work_conserving(const hf_uscl_t *lock) {
    return hf_load_relaxed(&lock->options) & HF_WORK_CONSERVING_OPTION;
}

static void wake(hf_slice_wake turn) {
    if (turn)
        hf_futex_wake(turn, 1);
}

// Under the word. Atomic: who sums up looks at it.
static inline void hold(struct hf_slices *slices, struct hf_share *share, uint64_t now) {
    hf_store_relaxed(&slices->holder, share);
    slices->section_began = now;
}

// The share whose slice it is, when that is the caller's class's and runs; else NULL.
static inline struct hf_share *own_slice(const struct hf_slices *slices, const struct hf_thread_record *self,
                                         uint64_t now) {
    struct hf_share *owner = hf_load_acquire(&slices->owner);
    if (!owner || hf_load_relaxed(&owner->own_class) != self->share_class || now >= hf_load_relaxed(&slices->slice_end))
        return NULL;
    return owner;
}

// Whichever comes first: the caller's deadline (NULL: none), or so many nanoseconds from now.
static struct hf_deadline earlier_of(const struct hf_deadline *deadline, uint64_t ns) {
    struct timespec now;
    if (deadline) {
        clock_gettime(deadline->clock, &now);
        // Both are small enough: a deadline that is far is cut off before it is multiplied.
        int64_t s = deadline->at.tv_sec - now.tv_sec;
        if (s < 1000000 && (s < 0 || (double)s * 1e9 + (double)(deadline->at.tv_nsec - now.tv_nsec) < (double)ns))
            return *deadline;
    }
    uint64_t at = hf_monotonic_ns() + ns;
    return (struct hf_deadline){
        .clock = CLOCK_MONOTONIC,
        .at = {.tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u)},
    };
}

static uint64_t ns_until(uint64_t at, uint64_t now) {
    return at > now ? (uint64_t)((double)(at - now) * hf_tick_ns_by_now()) : 0;
}

// Polls for the turn while spinning pays, `at` (0: unknown) being when the caller is to look. True when there is
// something to look at.
static bool poll_turn(const struct hf_slice_waiter *self, uint32_t turn, uint64_t at) {
    if (!hf_spinning_pays() || !hf_hint_is_fresh())
        return false;
    for (int polls = 0; at || polls < HF_TURN_POLLS; polls++) {
        if (hf_load_relaxed(&self->turn) != turn || (at && hf_ticks() >= at))
            return true;
        if (!hf_spinning_pays())
            return false;
        hf_pause();
    }
    return false;
}

// Waits for something to do: another turn, the keeper's time (0: the caller keeps none), or the deadline.
static void sleep_for_turn(const struct hf_slice_waiter *self, uint32_t turn, uint64_t at,
                           const struct hf_deadline *deadline) {
    if (!at) {
        if (!poll_turn(self, turn, 0))
            hf_futex_wait(&self->turn, turn, deadline);
        return;
    }
    uint64_t ns = ns_until(at, hf_ticks());
    if (ns > HF_PREFETCH_NS && hf_spinning_pays())
        ns -= HF_PREFETCH_NS;
    else if (ns == 0 || poll_turn(self, turn, at))
        return;
    struct hf_deadline first = earlier_of(deadline, ns);
    hf_futex_wait(&self->turn, turn, &first);
}

// Waits in the queue of slices. Returns 0 chosen, or ETIMEDOUT, having left the queue.
static int await_slice(struct hf_slices *slices, struct hf_slice_waiter *waiter, struct hf_thread_record *self,
                       const struct hf_deadline *deadline) {
    for (;;) {
        // Acquire: pairs with the release of whoever chooses.
        if (hf_load_acquire(&waiter->turn) & HF_TURN_CHOSEN)
            return 0;
        bool late = deadline && hf_deadline_has_passed(deadline);
        hf_slices_lock(slices, self);
        hf_slice_wake woken = NULL;
        uint64_t now = hf_ticks(), at = 0;
        uint32_t turn = waiter->turn;
        if (late && !(turn & HF_TURN_CHOSEN)) {
            woken = hf_slices_leave(slices, waiter, now);
        } else if (!(turn & HF_TURN_CHOSEN)) {
            woken = hf_slices_look(slices, waiter, now);
            turn = hf_load_relaxed(&waiter->turn);
            at = slices->keeper == waiter ? slices->keeper_at : 0;
        }
        hf_slices_unlock(slices, self);
        if (woken != &waiter->turn)
            wake(woken);
        if (turn & HF_TURN_CHOSEN)
            return 0;
        if (late)
            return ETIMEDOUT;
        hf_hint_look_again();
        sleep_for_turn(waiter, turn, at, deadline);
    }
}

// The caller's class is chosen: to the word, and begins its slice there. Returns 0 or ETIMEDOUT.
static int take_word(hf_uscl_t *lock, struct hf_slices *slices, struct hf_share *share, struct hf_thread_record *self,
                     const struct hf_deadline *deadline) {
    int error = hf_flexguard_acquire(&lock->word, &slices->spinners, &not_counted, self, deadline);
    uint64_t now = hf_ticks();
    hf_slices_lock(slices, self);
    hf_slice_wake woken =
        error ? hf_slices_give_up(slices, share, now) : hf_slices_begin(slices, share, now, slice_ticks_of(lock));
    hf_slices_unlock(slices, self);
    wake(woken);
    if (!error)
        hold(slices, share, hf_ticks());
    return error;
}

// A work-conserving lock that is free: true with the lock held.
static bool take_idle_word(hf_uscl_t *lock, struct hf_slices *slices, struct hf_share *share,
                           struct hf_thread_record *self) {
    if (!slices->work_conserving || hf_load_relaxed(&lock->word) != HF_WORD_FREE ||
        !hf_flexguard_try_acquire(&lock->word, self))
        return false;
    hold(slices, share, hf_ticks());
    return true;
}

// No memory: a lock whose sections are not counted. It still excludes.
static int acquire_uncounted(hf_uscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    hf_critical_enter(self);
    int error = hf_word_lock_blocking(&lock->word, deadline);
    if (error)
        hf_critical_leave(self);
    return error;
}

static __attribute__((noinline)) int acquire_by_slice(hf_uscl_t *lock, struct hf_slices *slices,
                                                      struct hf_thread_record *self,
                                                      const struct hf_deadline *deadline) {
    // Others wait for what it holds: it must not be made to wait for what it has used here, and waits for what is held.
    struct hf_slice_waiter waiter = {.never_banned = self->critical.critical_depth > 0};
    hf_slices_lock(slices, self);
    uint64_t now = hf_ticks();
    struct hf_share *share = hf_slices_share_of(slices, self, now);
    slices->work_conserving = is_work_conserving(lock);
    if (!share || own_slice(slices, self, now) || take_idle_word(lock, slices, share, self)) {
        bool done = share && !own_slice(slices, self, now);
        hf_slices_unlock(slices, self);
        if (done)
            return 0;
        int error = share ? hf_flexguard_acquire(&lock->word, &slices->spinners, &not_counted, self, deadline)
                          : acquire_uncounted(lock, self, deadline);
        if (!error)
            hold(slices, share, hf_ticks());
        return error;
    }
    waiter.share = share;
    hf_slice_wake woken = hf_slices_join(slices, &waiter, now);
    hf_slices_unlock(slices, self);
    if (woken != &waiter.turn)
        wake(woken);
    if (!(hf_load_acquire(&waiter.turn) & HF_TURN_CHOSEN)) {
        hf_count(self, contended);
        int error = await_slice(slices, &waiter, self, deadline);
        if (error) // POSIX: a timed lock takes what is free at its end, whosever the slice is
            return hf_uscl_trylock(lock) ? 0 : error;
    }
    return take_word(lock, slices, share, self, deadline);
}

static inline int acquire(hf_uscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct hf_slices *slices = hf_load_acquire(&lock->slices);
    if (!slices) {
        if (HF_LIKELY(hf_flexguard_try_acquire(&lock->word, self)))
            return 0;
        slices = hf_slices_of(lock, &lock->slices);
        if (!slices)
            return acquire_uncounted(lock, self, deadline);
        return acquire_by_slice(lock, slices, self, deadline);
    }
    uint64_t now = hf_ticks();
    struct hf_share *share = own_slice(slices, self, now);
    if (HF_UNLIKELY(!share))
        return acquire_by_slice(lock, slices, self, deadline);
    // Held meanwhile: by another thread of the class, or one that has tried or stayed in.
    int error = hf_flexguard_acquire(&lock->word, &slices->spinners, &not_counted, self, deadline);
    if (HF_LIKELY(!error))
        hold(slices, share, now);
    return error;
}

void hf_uscl_lock(hf_uscl_t *lock) {
    acquire(lock, hf_self(), NULL);
}

int hf_uscl_clocklock(hf_uscl_t *lock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (HF_LIKELY(hf_deadline_is_valid(&deadline)))
        return acquire(lock, hf_self(), &deadline);
    return hf_uscl_trylock(lock) ? 0 : EINVAL;
}

bool hf_uscl_trylock(hf_uscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    if (!hf_flexguard_try_acquire(&lock->word, self))
        return false;
    struct hf_slices *slices = hf_load_acquire(&lock->slices);
    if (!slices)
        return true;
    uint64_t now = hf_ticks();
    struct hf_share *share = own_slice(slices, self, now);
    if (!share) {
        hf_slices_lock(slices, self);
        share = hf_slices_share_of(slices, self, now);
        if (share)
            hf_store_relaxed(&share->last_seen, now);
        hold(slices, share, now);
        hf_slices_unlock(slices, self);
    }
    hold(slices, share, now);
    return true;
}

// Counts the section that ends. Returns who is to be woken when the lock is given back.
static inline hf_slice_wake end_section(struct hf_slices *slices, struct hf_thread_record *self) {
    struct hf_share *share = hf_load_relaxed(&slices->holder);
    if (!share)
        return NULL;
    uint64_t now = hf_ticks();
    hf_share_charge(share, now - slices->section_began);
    hf_store_relaxed(&share->last_seen, now);
    hf_store_relaxed(&slices->holder, NULL);
    // Relaxed: who has come to wait and is not seen here has seen the slice's end, or that it is over (U1).
    if (HF_LIKELY(hf_load_relaxed(&slices->waiters) == 0 || now < hf_load_relaxed(&slices->slice_end)))
        return NULL;
    hf_slices_lock(slices, self);
    hf_slice_wake woken = hf_slices_choose(slices, now);
    hf_slices_unlock(slices, self);
    return woken;
}

void hf_uscl_unlock(hf_uscl_t *lock) {
    struct hf_thread_record *self = hf_self();
    struct hf_slices *slices = hf_load_acquire(&lock->slices);
    hf_slice_wake woken = slices ? end_section(slices, self) : NULL;
    bool sleepers = hf_word_release(&lock->word);
    hf_critical_leave(self);
    if (HF_UNLIKELY(sleepers))
        hf_word_wake(&lock->word);
    // After the release: who is woken finds the word free. Neither the lock nor the waiter need be there any more (I4,
    // U3); the address is all that is used.
    wake(woken);
}

void hf_uscl_destroy(hf_uscl_t *lock) {
    if (lock->slices)
        hf_slices_give_back(lock->slices);
    hf_uscl_init(lock);
}

int hf_uscl_set_slice(hf_uscl_t *lock, uint32_t slice_us) {
    if (slice_us > HF_USCL_SLICE_US_MAX)
        return EINVAL;
    uint32_t options = hf_load_relaxed(&lock->options);
    while (!hf_cas_relaxed(&lock->options, options, (options & ~(uint32_t)HF_SLICE_OPTION) | (slice_us + 1)))
        options = hf_load_relaxed(&lock->options);
    return 0;
}

int hf_uscl_set_default_slice(uint32_t slice_us) {
    if (slice_us > HF_USCL_SLICE_US_MAX)
        return EINVAL;
    hf_store_relaxed(&default_slice_us, slice_us);
    return 0;
}

void hf_uscl_set_work_conserving(hf_uscl_t *lock, bool work_conserving) {
    uint32_t bit = HF_WORK_CONSERVING_OPTION, options = hf_load_relaxed(&lock->options);
    while (!hf_cas_relaxed(&lock->options, options, work_conserving ? options | bit : options & ~bit))
        options = hf_load_relaxed(&lock->options);
}

void hf_uscl_set_class(uint32_t number) {
    hf_thread_set_class(hf_self(), number);
}
