// SPDX-License-Identifier: MIT OR Apache-2.0
// claim.C1 to C5: claims.h.
#include "park/claims.h"

#include "base/check.h"
#include "park/fork_guard.h"
#include "park/masked_lock.h"

// Claims on words that share a list, the oldest wait first.
struct list {
    uint32_t lock;
    struct hf_claim *first;
} HF_CACHE_ALIGNED;

// Zeroed by the kernel in a forked child, which has none of its parent's claimants.
static struct list lists[1 << HF_CLAIM_LISTS_BITS] HF_FORK_PAGES;
_Static_assert(sizeof(lists) % HF_FORK_PAGE_BYTES == 0, "nothing else is zeroed");

uint32_t hf_claims_standing[1 << HF_CLAIM_LISTS_BITS];

static uint32_t *standing_in(const struct list *list) {
    return &hf_claims_standing[list - lists];
}

// Writes no more than it has to: what a child writes it gets a copy of.
static void start_over(void);
static struct hf_fork_guard guard = HF_FORK_GUARD(start_over);

static void start_over(void) {
    for (int i = 0; i < 1 << HF_CLAIM_LISTS_BITS; i++) {
        if (!guard.is_zeroed)
            lists[i] = (struct list){.lock = HF_WORD_FREE};
        if (hf_load_relaxed(&hf_claims_standing[i]) != 0)
            hf_store_relaxed(&hf_claims_standing[i], 0);
    }
}

static struct list *lock_list_of(const uint32_t *word, sigset_t *saved) {
    struct list *list = &lists[hf_claims_list_of(word)];
    hf_masked_lock_in_order(&list->lock, &guard, saved);
    return list;
}

// The link to the claim, or the one at the list's end.
static struct hf_claim **link_to(struct list *list, const struct hf_claim *claim) {
    struct hf_claim **at = &list->first;
    while (*at && *at != claim)
        at = &(*at)->next;
    return at;
}

static struct hf_claim **link_to_first_on(struct list *list, const uint32_t *word) {
    struct hf_claim **at = &list->first;
    while (*at && (*at)->word != word)
        at = &(*at)->next;
    return at;
}

static struct hf_claim *take_out(struct list *list, struct hf_claim **at) {
    struct hf_claim *claim = *at;
    if (claim) {
        *at = claim->next;
        hf_store_relaxed(standing_in(list), *standing_in(list) - 1);
    }
    return claim;
}

void hf_claim_begin(struct hf_claim *claim, const uint32_t *word, uint64_t since_ns) {
    sigset_t saved;
    struct list *list = lock_list_of(word, &saved);
    HF_CHECK("claim.C5", *link_to(list, claim) == NULL);
    *claim = (struct hf_claim){.word = word, .since_ns = since_ns, .state = HF_CLAIM_STANDS};
    struct hf_claim **at = &list->first;
    while (*at && (*at)->since_ns <= since_ns)
        at = &(*at)->next;
    claim->next = *at;
    *at = claim;
    hf_store_relaxed(standing_in(list), *standing_in(list) + 1);
    hf_masked_unlock(&list->lock, &saved);
}

// In a child that was forked by a handler in this wait it is not there.
bool hf_claim_end(struct hf_claim *claim) {
    if (claim->word) {
        sigset_t saved;
        struct list *list = lock_list_of(claim->word, &saved);
        take_out(list, link_to(list, claim));
        claim->word = NULL;
        hf_masked_unlock(&list->lock, &saved);
    }
    return hf_claim_is_met(claim);
}

bool hf_claims_meet(uint32_t *word, uint64_t now_ticks) {
    sigset_t saved;
    struct list *list = lock_list_of(word, &saved);
    struct hf_claim *claim = take_out(list, link_to_first_on(list, word));
    if (claim) {
        hf_exchange_relaxed(word, HF_WORD_HELD_WITH_SLEEPERS); // claim.C2
        claim->met_ticks = now_ticks;
        // The owner's last touch of lock and claim: C1. Release: pairs with the acquire in hf_claim_is_met.
        hf_store_release(&claim->state, HF_CLAIM_MET);
    }
    hf_masked_unlock(&list->lock, &saved);
    if (claim)
        hf_futex_wake(&claim->state, 1);
    return claim != NULL;
}

__attribute__((constructor)) static void watch_forks(void) {
    hf_fork_guard_watch(&guard, lists, sizeof(lists));
}
