// SPDX-License-Identifier: MIT OR Apache-2.0
// RT1, RT2: realtime_waiters.h.
#include "lock/wait/realtime_waiters.h"

#include "base/address_hash.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/pause.h"
#include "hint/hint.h"
#include "park/fork_guard.h"
#include "park/masked_lock.h"

enum { HF_REALTIME_LISTS_BITS = 6 };

// Words whose waiters share a list.
struct list {
    uint32_t lock;
    const uint32_t *waited_for; // by all of them; `several`; or NULL: there are none
    struct hf_realtime_waiter *first;
} HF_CACHE_ALIGNED;

static const uint32_t several[1];

// Zeroed by the kernel in a forked child, which has none of its parent's waiters.
static struct list lists[1 << HF_REALTIME_LISTS_BITS] HF_FORK_PAGES;
_Static_assert(sizeof(lists) % HF_FORK_PAGE_BYTES == 0, "nothing else is zeroed");

static void start_over(void);
static struct hf_fork_guard guard = HF_FORK_GUARD(start_over);

static void start_over(void) {
    if (guard.is_zeroed)
        return;
    for (int i = 0; i < 1 << HF_REALTIME_LISTS_BITS; i++)
        lists[i] = (struct list){.lock = HF_WORD_FREE};
}

static struct list *list_of(const uint32_t *word) {
    return &lists[hf_address_hash((uintptr_t)word, HF_REALTIME_LISTS_BITS)];
}

static void note_firsts(struct list *list) {
    const uint32_t *waited_for = list->first ? list->first->word : NULL;
    for (struct hf_realtime_waiter *waiter = list->first; waiter; waiter = waiter->next) {
        uint32_t is_first = 1;
        for (struct hf_realtime_waiter *before = list->first; before != waiter; before = before->next) {
            if (before->word == waiter->word)
                is_first = 0;
        }
        hf_store_relaxed(&waiter->is_first, is_first);
        if (waiter->word != waited_for)
            waited_for = several;
    }
    hf_store_relaxed(&list->waited_for, waited_for);
}

void hf_realtime_join(struct hf_realtime_waiter *self, const uint32_t *word, unsigned priority) {
    struct list *list = list_of(word);
    sigset_t saved;
    hf_masked_lock_in_order(&list->lock, &guard, &saved);
    *self = (struct hf_realtime_waiter){.word = word, .priority = priority};
    struct hf_realtime_waiter **at = &list->first;
    while (*at && (*at)->priority >= priority)
        at = &(*at)->next;
    self->next = *at;
    *at = self;
    note_firsts(list);
    hf_masked_unlock(&list->lock, &saved);
}

// In a child that was forked by a handler in this wait it is not there.
void hf_realtime_leave(struct hf_realtime_waiter *self) {
    if (!self->word)
        return;
    struct list *list = list_of(self->word);
    sigset_t saved;
    hf_masked_lock_in_order(&list->lock, &guard, &saved);
    struct hf_realtime_waiter **at = &list->first;
    while (*at && *at != self)
        at = &(*at)->next;
    if (*at)
        *at = self->next;
    self->word = NULL;
    note_firsts(list);
    hf_masked_unlock(&list->lock, &saved);
}

bool hf_realtime_waits_for(const uint32_t *word) {
    const uint32_t *waited_for = hf_load_relaxed(&list_of(word)->waited_for);
    return waited_for == word || waited_for == several;
}

// A real-time thread that polls for another one's sake may keep the CPU from it; where both sleep the kernel has them
// in order.
static bool is_before(const uint32_t *word, const struct hf_realtime_waiter *self) {
    return self ? hf_load_relaxed(&self->is_first) || !hf_spinning_pays() : !hf_realtime_waits_for(word);
}

bool hf_realtime_is_to_give_way(const uint32_t *word, const struct hf_realtime_waiter *self, uint64_t *since_ns) {
    if (is_before(word, self))
        return false;
    uint64_t now_ns = hf_monotonic_ns();
    if (*since_ns == 0)
        *since_ns = now_ns;
    hf_timed_pause();
    return hf_ns_since(*since_ns, now_ns) < HF_GIVE_WAY_NS;
}

__attribute__((constructor)) static void watch_forks(void) {
    hf_fork_guard_watch(&guard, lists, sizeof(lists));
}
