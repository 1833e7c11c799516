// SPDX-License-Identifier: MIT OR Apache-2.0
// A share: what one class (a thread, or threads that the user has put together) has used of one lock's time. Arithmetic
// only: the time is given, nothing waits in here, and no error in it can let two threads into a lock.
//
// Time is measured in ticks (base/clock.h). What a class has used is its *virtual time*: the ticks that it has held the
// lock, times 1024 over its weight. So classes that have had what is due to them are at the same virtual time. The
// next is the one that is least far (start-time fair queueing, Goyal et al., SIGCOMM '96).
//
// Opportunity, not only use, is to be shared (paper, section 3): a class that wants the lock right now and has used
// more than another one, which is active and does not want it right now, waits. It is *banned*, until either
//     its debt is paid: of the time since its last slice began it has used no more than its part by weight; or
//     the others are inactive, or exited, or wait for a condition, or have left most of their last slice unused.
// A class that has left its slice mostly unused comes behind the others that wait (slices.c, settle_slice). Else who
// locks now and then for some nanoseconds would be the least far for ever, and whole slices would pass unused.
#ifndef HF_LOCK_SCL_SHARE_H
#define HF_LOCK_SCL_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hf_share {
    uint64_t own_class;              // as in the thread's record
    uint64_t used;                   // virtual time; written by the lock's holder, and when its class comes to wait
    uint64_t last_seen;              // ticks: when it last held the lock or came to wait
    struct hf_thread_record *thread; // the only one of the class that has come to wait; NULL: there were several
    struct hf_share *next;           // of the same lock, or spare
    uint64_t slice_began;            // ticks: its last slice
    uint64_t used_before_slice;
    uint64_t held;         // ticks held that have not been noted yet (observe/observation.h); the lock's holder's
    uint64_t weighed;      // ticks: when the weight was looked up
    uint32_t weight;       // 1024 for nice 0
    uint32_t per_tick;     // virtual time for each tick, in 1/65536
    uint32_t waiting;      // threads of the class in the queue
    uint32_t quick_needed; // lock/scl/section_timing.h; at least HF_QUICK_NEEDED_MIN are; under the lock's word
    bool away;             // waits for a condition: does not want the lock until it comes back
    bool spares;           // has left most of its last slice unused: others need not leave it the lock
} HF_CACHE_ALIGNED;

enum {
    HF_WEIGHT_OF_NICE_0 = 1024,
    HF_NICE_MIN = -20,
    HF_NICE_MAX = 19,
};

// Field by field: a thread that comes late (uscl.U4, slices.h) may look at what was another share.
static inline void hf_share_init(struct hf_share *share, uint64_t own_class, struct hf_thread_record *thread) {
    hf_store_relaxed(&share->own_class, own_class);
    hf_store_relaxed(&share->used, 0);
    hf_store_relaxed(&share->last_seen, 0);
    hf_store_relaxed(&share->thread, thread);
    hf_store_relaxed(&share->held, 0);
    share->slice_began = share->used_before_slice = share->weighed = 0;
    share->weight = share->waiting = share->quick_needed = 0;
    share->away = share->spares = false;
}

// The weight that Linux gives to a nice value (kernel/sched/core.c, sched_prio_to_weight).
uint32_t hf_weight_of_nice(int nice);

void hf_share_set_weight(struct hf_share *share, uint32_t weight);

// Longer critical sections count as this long: no product overflows.
#define HF_SECTION_TICKS_MAX (1ull << 40)

// Counts a critical section. A negative length (clocks of two CPUs may differ a little) counts nothing.
static inline void hf_share_charge(struct hf_share *share, uint64_t ticks) {
    if (HF_UNLIKELY(ticks > HF_SECTION_TICKS_MAX))
        ticks = (int64_t)ticks < 0 ? 0 : HF_SECTION_TICKS_MAX;
    hf_store_relaxed(&share->held, hf_load_relaxed(&share->held) + ticks);
    hf_store_relaxed(&share->used, hf_load_relaxed(&share->used) + (ticks * hf_load_relaxed(&share->per_tick) >> 16));
}

// Time in which a class did not want the lock is not saved up: it comes back at the virtual time of those who did.
static inline void hf_share_come_back(struct hf_share *share, uint64_t virtual_now) {
    if (hf_load_relaxed(&share->used) < virtual_now)
        hf_store_relaxed(&share->used, virtual_now);
}

static inline void hf_share_begin_slice(struct hf_share *share, uint64_t now) {
    share->slice_began = now;
    share->used_before_slice = hf_load_relaxed(&share->used);
}

// Of a slice of which so many ticks have passed: has the class used less than a part in HF_SPARED_PARTS?
enum { HF_SPARED_PARTS = 32 };
static inline bool hf_share_has_spared(const struct hf_share *share, uint64_t ticks) {
    uint64_t used = hf_load_relaxed(&share->used) - share->used_before_slice;
    return used < (ticks * hf_load_relaxed(&share->per_tick) >> 16) / HF_SPARED_PARTS;
}

// Has its only thread exited, or gone to another class?
static inline bool hf_share_is_dead(const struct hf_share *share) {
    const struct hf_thread_record *thread = hf_load_relaxed(&share->thread);
    return thread && hf_load_relaxed(&thread->share_class) != share->own_class;
}

// Is its class gone for good? A thread's own class is: no other thread ever has it. A class that was made may come back
// with another thread, and what it has used counts then; until that it is as inactive as any other.
static inline bool hf_share_is_gone(const struct hf_share *share) {
    return !(share->own_class & HF_CLASS_IS_MADE) && hf_share_is_dead(share);
}

// Does it take part: does it want the lock, or has it used it not long ago?
static inline bool hf_share_is_active(const struct hf_share *share, uint64_t now, uint64_t inactive_after) {
    if (share->waiting)
        return true;
    uint64_t seen = hf_load_relaxed(&share->last_seen);
    // Seen later than now: by a CPU whose clock is ahead, or before the clock went back (uscl.U8, slices.h).
    return !hf_share_is_gone(share) && hf_ticks_apart(now, seen) < inactive_after;
}

// What the classes that take part in a lock have in common. `idle` are those that do not wait right now.
struct hf_share_totals {
    uint64_t weight;
    uint64_t idle_used_min;  // UINT64_MAX: there is none
    uint64_t idle_seen_last; // ticks
};

#define HF_SHARE_NO_TOTALS                                                                                             \
    { 0, UINT64_MAX, 0 }

void hf_share_add(struct hf_share_totals *totals, const struct hf_share *share);

// The time until which a waiting class is banned: not after `now` when it is not.
uint64_t hf_share_banned_until(const struct hf_share *share, const struct hf_share_totals *totals, uint64_t virtual_now,
                               uint64_t now, uint64_t inactive_after);

#ifdef __cplusplus
}
#endif

#endif
