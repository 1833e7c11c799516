// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/slice_wait.h"

#include <errno.h>

#include "base/clock.h"
#include "base/pause.h"
#include "hint/freshness.h"
#include "hint/hint.h"
#include "park/deadline.h"

enum {
    HF_PREFETCH_NS =
        100 * 1000, // a timekeeper that may spin is woken so long before its time (paper: next-thread prefetch)
    HF_WAKE_POLLS = 1 << 10,       // of a waiter that does not know when its time comes: some tens of microseconds
    HF_TIMEKEEPER_POLLS = 1 << 16, // of one whose time comes after HF_PREFETCH_NS: more than go into that (uscl.U8)
    HF_RELIEF_CROWD = 16,          // so many waiters look in HF_RELIEF_NS; of more, each looks less often
};

static uint64_t ns_until(uint64_t at, uint64_t now) {
    return at > now ? (uint64_t)((double)(at - now) * hf_tick_ns_by_now()) : 0;
}

// Polls the wake word while spinning pays, `at` (0: unknown) being when the caller is to look. True when there is
// something to look at.
static bool poll_wake_word(const struct hf_slice_waiter *self, uint32_t seen, uint64_t at) {
    if (!hf_spinning_pays() || !hf_hint_is_fresh())
        return false;
    for (int polls = 0; polls < (at ? HF_TIMEKEEPER_POLLS : HF_WAKE_POLLS); polls++) {
        if (hf_load_relaxed(&self->wake_word) != seen || (at && hf_ticks() >= at))
            return true;
        if (!hf_spinning_pays())
            return false;
        hf_timed_pause();
    }
    return false;
}

// Waits for something to do: a wake, the timekeeper's time (0: the caller keeps none), the deadline; or to see
// whether others keep the time (uscl.U6). `now` is when the caller has looked: uscl.U8 holds of that.
static void sleep_until_woken(const struct hf_slice_waiter *self, uint32_t seen, uint64_t at, uint64_t now,
                              uint64_t relief_ns, const struct hf_deadline *deadline, struct hf_wait *wait) {
    uint64_t ns = at ? ns_until(at, now) : relief_ns;
    if (at && ns > HF_PREFETCH_NS && hf_spinning_pays())
        ns -= HF_PREFETCH_NS;
    else if (ns == 0 || poll_wake_word(self, seen, at))
        return;
    struct hf_deadline first = hf_deadline_or_in(deadline, ns);
    hf_wait_falls_asleep(wait);
    hf_futex_wait(&self->wake_word, seen, &first);
    hf_wait_awakes(wait);
}

int hf_slices_await(struct hf_slices *slices, struct hf_slice_waiter *waiter, struct hf_thread_record *self,
                    const struct hf_deadline *deadline, struct hf_wait *wait) {
    for (bool slept = false;; slept = true) {
        // Acquire: pairs with the release of the thread that chooses.
        if (hf_load_acquire(&waiter->wake_word) & HF_WAKE_CHOSEN)
            return 0;
        bool late = deadline && hf_deadline_has_passed(deadline);
        sigset_t saved;
        hf_slices_lock(slices, self, &saved);
        hf_slice_wake woken = NULL;
        uint64_t now = hf_ticks(), at = 0;
        uint32_t seen = waiter->wake_word;
        if (late && !(seen & HF_WAKE_CHOSEN)) {
            woken = hf_slices_leave(slices, waiter, now);
            waiter->share = NULL; // it is nowhere any more, for a thread that leaves by siglongjmp now (uscl_lock.c)
        } else if (!(seen & HF_WAKE_CHOSEN) && !(slept && hf_slices_lock_is_gone(slices))) {
            woken = hf_slices_look(slices, waiter, now);
            seen = hf_load_relaxed(&waiter->wake_word);
            at = slices->timekeeper == waiter ? slices->timekeeper_at : 0;
        }
        uint64_t relief_ns = HF_RELIEF_NS * (1 + slices->waiters / HF_RELIEF_CROWD);
        hf_slices_unlock(slices, self, &saved);
        if (woken != &waiter->wake_word)
            hf_slice_wake_up(woken);
        if (seen & HF_WAKE_CHOSEN)
            return 0;
        if (late)
            return ETIMEDOUT;
        hf_hint_look_again();
        sleep_until_woken(waiter, seen, at, now, relief_ns, deadline, wait);
    }
}
