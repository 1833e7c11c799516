// SPDX-License-Identifier: MIT OR Apache-2.0
// States and invariants: slices.h.
#include "lock/scl/slices.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/system_call.h"
#include "park/word_lock.h"

// How often a thread's nice value is looked up: a changed one takes effect with the next slice after that.
enum { HF_WEIGHING_NS = 1000 * 1000 };

// An end in every clock's past that is not PENDING's.
enum { HF_SLICE_OVER = 1 };

static bool is_pending(const struct hf_slices *slices) {
    return slices->owner && slices->slice_end == 0;
}

// uscl.U8. Of PENDING and NOBODYS, when the slice before became one, and of PENDING also when it will be late; of
// others, when the slice began.
static bool is_of_another_clock(const struct hf_slices *slices, uint64_t now) {
    uint64_t changed = hf_load_relaxed(&slices->taken_at);
    // The slice before may be long ago, or there was none.
    if (is_pending(slices) && hf_clock_went_back(slices->due_at, now + hf_ticks_of_ns(HF_LATE_NS)))
        return true;
    if (slices->owner && !is_pending(slices) && slices->owner->slice_began > changed)
        changed = slices->owner->slice_began;
    return hf_clock_went_back(changed, now);
}

// uscl.U8. Whatever was to come has come. The timekeeper may not know that yet: it is another one that does.
static void void_times_of_another_clock(struct hf_slices *slices, uint64_t now) {
    if (!is_of_another_clock(slices, now))
        return;
    hf_store_relaxed(&slices->taken_at, now);
    slices->timekeeper = NULL;
    slices->due_at = now;
    if (slices->owner && !is_pending(slices))
        hf_store_relaxed(&slices->slice_end, now);
    // Once: a debt that were counted from each look on would never be paid (uscl.U5).
    for (struct hf_share *share = slices->shares; share; share = share->next) {
        if (share->slice_began > now)
            share->slice_began = now;
    }
}

// uscl.U2. While somebody is inside, a thread that is chosen has to wait for that, and so would any other.
static bool is_late(const struct hf_slices *slices, uint64_t now) {
    return now >= slices->due_at && (!slices->lock || hf_load_relaxed(slices->lock) == HF_WORD_FREE);
}

// Read without the guard: a mixture of two states sends a thread to the word at the wrong time, and no more (word.I1).
static void set_state(struct hf_slices *slices, struct hf_share *owner, uint64_t slice_end) {
    hf_store_relaxed(&slices->slice_end, slice_end);
    hf_store_release(&slices->owner, owner); // pairs with the acquire of the thread that looks into the share
}

static void take_out(struct hf_slices *slices, struct hf_slice_waiter *waiter) {
    HF_CHECK("uscl.U3", slices->waiters > 0 && !(waiter->wake_word & HF_WAKE_CHOSEN));
    *(waiter->previous ? &waiter->previous->next : &slices->first) = waiter->next;
    *(waiter->next ? &waiter->next->previous : &slices->last) = waiter->previous;
    hf_store_relaxed(&slices->waiters, slices->waiters - 1);
    waiter->share->waiting--;
    if (slices->timekeeper == waiter)
        slices->timekeeper = NULL;
}

static hf_slice_wake choose_waiter(struct hf_slices *slices, struct hf_slice_waiter *waiter) {
    take_out(slices, waiter);
    hf_slice_wake wake = &waiter->wake_word;
    // Release: the chosen one may go without the guard. Its node is gone from here on (uscl.U3).
    hf_store_release(&waiter->wake_word, waiter->wake_word | HF_WAKE_CHOSEN);
    return wake;
}

// The one that is to come next, as far as is known by now: it keeps the time, and is awake when its time comes.
static struct hf_slice_waiter *least_used(const struct hf_slices *slices) {
    struct hf_slice_waiter *least = slices->first;
    for (struct hf_slice_waiter *waiter = least->next; waiter; waiter = waiter->next) {
        if (hf_load_relaxed(&waiter->share->used) < hf_load_relaxed(&least->share->used))
            least = waiter;
    }
    return least;
}

// uscl.U1. Returns the new timekeeper, if there is one.
static hf_slice_wake keep_time(struct hf_slices *slices, uint64_t at) {
    if (!slices->first || (slices->timekeeper && slices->timekeeper_at <= at))
        return NULL;
    struct hf_slice_waiter *timekeeper = least_used(slices);
    slices->timekeeper = timekeeper;
    slices->timekeeper_at = at;
    hf_store_relaxed(&timekeeper->wake_word, timekeeper->wake_word + HF_WAKE_TIMEKEEPER);
    return &timekeeper->wake_word;
}

// Does the lock's holder, or the owner of the slice, count what it does there?
static bool is_in_use(const struct hf_slices *slices, const struct hf_share *share) {
    return share == slices->owner || share == hf_load_relaxed(&slices->holder) ||
           share == hf_load_relaxed(&slices->untimed_holder);
}

static uint64_t inactive_ticks(const struct hf_slices *slices) {
    uint32_t ms = slices->inactive_ms ? slices->inactive_ms : HF_INACTIVE_MS;
    return hf_ticks_of_ns(ms * 1e6);
}

// Forgets the shares of classes that do not take part any more, and sums the others up.
static void sum_up(struct hf_slices *slices, uint64_t now, struct hf_share_totals *totals) {
    uint64_t inactive_after = inactive_ticks(slices);
    for (struct hf_share **link = &slices->shares; *link;) {
        struct hf_share *share = *link;
        if (hf_share_is_active(share, now, inactive_after)) {
            hf_share_add(totals, share);
            link = &share->next;
        } else if (is_in_use(slices, share)) {
            link = &share->next;
        } else {
            *link = share->next;
            hf_share_give(share);
        }
    }
}

// The waiter that is next, or NULL when all are banned, until *banned_until.
static struct hf_slice_waiter *next_of(struct hf_slices *slices, uint64_t now, uint64_t *banned_until) {
    struct hf_share_totals totals = HF_SHARE_NO_TOTALS;
    uint64_t inactive_after = inactive_ticks(slices);
    struct hf_slice_waiter *next = NULL;
    sum_up(slices, now, &totals);
    *banned_until = UINT64_MAX;
    for (struct hf_slice_waiter *waiter = slices->first; waiter; waiter = waiter->next) {
        uint64_t until = now;
        if (!slices->work_conserving && !waiter->never_banned)
            until = hf_share_banned_until(waiter->share, &totals, slices->virtual_now, now, inactive_after);
        if (until > now) {
            if (until < *banned_until)
                *banned_until = until;
        } else if (!next || hf_load_relaxed(&waiter->share->used) < hf_load_relaxed(&next->share->used)) {
            next = waiter; // of equals the one that came first
        }
    }
    return next;
}

// Is the owner outside its section, and waits at another lock, of whatever kind? Then it will not come back soon.
// Advice: it may only be passing by a guard there, or sleep for this very word, which one took that has tried, and
// loses the rest of its slice for nothing.
static bool owner_is_elsewhere(const struct hf_slices *slices) {
    const struct hf_thread_record *owner = hf_load_relaxed(&slices->owner->thread); // NULL: there are others
    return owner && (hf_load_relaxed(&owner->in_slices) != 0 || hf_load_relaxed(&owner->asleep) != 0) && slices->lock &&
           hf_load_relaxed(slices->lock) == HF_WORD_FREE;
}

// How long the slice is, or was to be; 0 where it is of no length.
static uint64_t length_of_slice(const struct hf_slices *slices) {
    uint64_t began = slices->owner->slice_began;
    return slices->slice_end > began ? slices->slice_end - began : 0;
}

// When it is seen whether the owner uses its slice, before that is over.
enum { HF_EARLY_PARTS = 8 }; // of a slice
static uint64_t early_look(const struct hf_slices *slices) {
    return slices->owner->slice_began + length_of_slice(slices) / HF_EARLY_PARTS;
}

// Is the lock free, and has the owner left most of its slice unused so far? It may be anywhere: asleep, computing,
// waiting for a lock that nobody knows of.
static bool is_spared(const struct hf_slices *slices, uint64_t now) {
    uint64_t passed = now < slices->slice_end ? now : slices->slice_end;
    return length_of_slice(slices) != 0 && now >= early_look(slices) && slices->lock &&
           hf_load_relaxed(slices->lock) == HF_WORD_FREE &&
           hf_share_has_spared(slices->owner, passed - slices->owner->slice_began);
}

// Is the slice still its owner's?
static bool is_running(const struct hf_slices *slices, uint64_t now) {
    return slices->owner && now < slices->slice_end && !hf_share_is_dead(slices->owner) &&
           !owner_is_elsewhere(slices) && !is_spared(slices, now);
}

// Somebody waits, and the slice is over, or not used. A class that has left it unused is no further behind than the
// first of those who wait and would use theirs: that one's turn comes before its next, and then again its own.
static void settle_slice(struct hf_slices *slices, uint64_t now) {
    struct hf_share *owner = slices->owner;
    uint64_t least = UINT64_MAX;
    owner->spares = is_spared(slices, now);
    for (struct hf_slice_waiter *waiter = slices->first; owner->spares && waiter; waiter = waiter->next) {
        uint64_t used = hf_load_relaxed(&waiter->share->used);
        if (!waiter->share->spares && used < least)
            least = used;
    }
    if (least != UINT64_MAX)
        hf_share_come_back(owner, least);
}

hf_slice_wake hf_slices_choose(struct hf_slices *slices, uint64_t now) {
    if (!slices->first)
        return NULL;
    void_times_of_another_clock(slices, now);
    bool pending = is_pending(slices);
    if (pending && !is_late(slices, now)) // uscl.U2
        return NULL;
    if (!pending && is_running(slices, now))
        return keep_time(slices, now < early_look(slices) ? early_look(slices) : slices->slice_end);
    if (!pending && slices->owner) {
        settle_slice(slices, now);
        hf_store_relaxed(&slices->taken_at, now); // before the release in set_state
    }
    struct hf_slice_waiter *next = next_of(slices, now, &slices->due_at);
    if (!next) {
        set_state(slices, NULL, 0);
        return keep_time(slices, slices->due_at);
    }
    set_state(slices, next->share, 0);
    slices->due_at = now + hf_ticks_of_ns(HF_LATE_NS);
    return choose_waiter(slices, next);
}

// uscl.U2: the caller, a thread that is awake and waits, sees whether the chosen one is late, if nobody else does.
static void watch_pending(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now) {
    if (!is_pending(slices) || slices->timekeeper || (self->wake_word & HF_WAKE_CHOSEN))
        return;
    slices->timekeeper = self;
    slices->timekeeper_at = slices->due_at > now ? slices->due_at : now + hf_ticks_of_ns(HF_LATE_NS);
}

struct hf_share *hf_slices_share_of(struct hf_slices *slices, struct hf_thread_record *self, uint64_t now) {
    uint64_t own_class = self->share_class;
    struct hf_share *share = slices->shares;
    while (share && share->own_class != own_class)
        share = share->next;
    if (!share) {
        share = hf_share_take();
        if (!share)
            return NULL;
        hf_share_init(share, own_class, own_class == 0 ? NULL : self);
        share->next = slices->shares;
        slices->shares = share;
    } else if (share->thread != self) {
        // Atomic: read without the guard, too. One that follows another which is gone is alone in the class again.
        hf_store_relaxed(&share->thread, hf_share_is_dead(share) ? self : NULL);
    }
    if (share->weight == 0 || now - share->weighed > hf_ticks_of_ns(HF_WEIGHING_NS)) {
        long priority = hf_sys_getpriority(PRIO_PROCESS, 0); // the calling thread's
        hf_share_set_weight(share, hf_weight_of_nice(priority > 0 ? 20 - (int)priority : 0));
        share->weighed = now;
    }
    share->away = false;
    return share;
}

hf_slice_wake hf_slices_join(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now) {
    struct hf_share *share = self->share;
    if (share->waiting++ == 0)
        hf_share_come_back(share, slices->virtual_now);
    hf_store_relaxed(&share->last_seen, now);
    self->next = NULL;
    self->previous = slices->last;
    *(slices->last ? &slices->last->next : &slices->first) = self;
    slices->last = self;
    hf_store_relaxed(&slices->waiters, slices->waiters + 1);
    hf_slice_wake wake = hf_slices_choose(slices, now);
    watch_pending(slices, self, now);
    return wake;
}

hf_slice_wake hf_slices_leave(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now) {
    take_out(slices, self);
    return hf_slices_lock_is_gone(slices) ? NULL : hf_slices_choose(slices, now); // uscl.U1: another timekeeper
}

hf_slice_wake hf_slices_look(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now) {
    void_times_of_another_clock(slices, now);
    if (slices->timekeeper) {
        uint64_t relief = slices->timekeeper == self ? 0 : hf_ticks_of_ns(HF_RELIEF_NS);
        if (now < slices->timekeeper_at + relief)
            return NULL;
    }
    slices->timekeeper = NULL; // uscl.U6
    hf_slice_wake wake = hf_slices_choose(slices, now);
    watch_pending(slices, self, now);
    return wake;
}

hf_slice_wake hf_slices_begin(struct hf_slices *slices, struct hf_share *share, uint64_t now, uint64_t slice_ticks) {
    if (slices->owner != share || !is_pending(slices))
        return NULL; // another thread of the class has begun it
    // A slice of no length is over from the start, by the clock of whichever CPU unlock reads.
    set_state(slices, share, slice_ticks ? now + slice_ticks : HF_SLICE_OVER);
    hf_share_begin_slice(share, now);
    uint64_t used = hf_load_relaxed(&share->used);
    if (slices->virtual_now < used)
        slices->virtual_now = used;
    for (struct hf_slice_waiter *waiter = slices->first, *next; waiter && share->waiting; waiter = next) {
        next = waiter->next;
        if (waiter->share == share)
            hf_futex_wake(choose_waiter(slices, waiter), 1);
    }
    // A slice of no length is over when its first section is, which unlock sees: nobody need keep the time (uscl.U1).
    return slice_ticks ? keep_time(slices, early_look(slices)) : NULL;
}

hf_slice_wake hf_slices_retire(struct hf_slices *slices, struct hf_share *share, uint64_t now) {
    share->away = true;
    if (slices->owner != share || is_pending(slices))
        return NULL;
    set_state(slices, share, now);
    return hf_slices_choose(slices, now);
}

hf_slice_wake hf_slices_give_up(struct hf_slices *slices, struct hf_share *share, uint64_t now) {
    if (slices->owner != share || !is_pending(slices))
        return NULL;
    set_state(slices, NULL, 0);
    slices->due_at = now;
    return hf_slices_choose(slices, now);
}
