// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/begun_slices.h"

#include "lock/scl/slice_wait.h"

// Of how many locks a thread remembers that it had their slices, in the order in which it came to them first. One that
// uses more keeps those of before until they end by themselves.
enum { HF_BEGUN_SLICES = 8 };

static __thread struct {
    struct hf_slices *slices[HF_BEGUN_SLICES];
    uint32_t next;
} begun __attribute__((tls_model("initial-exec")));

static bool is_own(const struct hf_share *owner, const struct hf_thread_record *self) {
    return owner && owner->thread == self && owner->own_class == self->share_class;
}

static void leave(struct hf_slices *slices, struct hf_thread_record *self, bool exits) {
    hf_slice_wake woken = NULL;
    sigset_t saved;
    hf_slices_lock(slices, self, &saved);
    if (is_own(slices->owner, self) && !(slices->first && hf_slices_lock_is_gone(slices)))
        woken = exits ? hf_slices_retire(slices, slices->owner, hf_ticks()) : hf_slices_choose(slices, hf_ticks());
    hf_slices_unlock(slices, self, &saved);
    hf_slice_wake_up(woken);
}

// Without the guard: whether a sleeper has something to leave. The slices of a class that is one thread are begun by
// that thread, so it does not miss its own.
static bool is_waited_for(const struct hf_slices *slices, const struct hf_thread_record *self) {
    if (hf_load_relaxed(&slices->waiters) == 0)
        return false;
    const struct hf_share *owner = hf_load_acquire(&slices->owner); // pairs with the release in set_state (slices.c)
    return owner && hf_load_relaxed(&owner->thread) == self;
}

// While somebody waits at a lock it exists: a sleeper looks at no other. A waiter that comes just now may be missed,
// and then waits for the slice's end.
static void leave_all(struct hf_thread_record *self, bool exits) {
    for (int i = 0; i < HF_BEGUN_SLICES && begun.slices[i]; i++) {
        if (exits || is_waited_for(begun.slices[i], self))
            leave(begun.slices[i], self, exits);
    }
}

void hf_begun_slices_add(struct hf_slices *slices, struct hf_thread_record *self) {
    if (self->tid == 0) // a record that threads share: no slice is one's own
        return;
    hf_thread_watch_slices(leave_all);
    hf_private(self)->slice_begun = slices;
    for (int i = 0; i < HF_BEGUN_SLICES; i++) {
        if (begun.slices[i] == slices)
            return;
    }
    begun.slices[begun.next++ % HF_BEGUN_SLICES] = slices;
}
