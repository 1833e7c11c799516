// SPDX-License-Identifier: MIT OR Apache-2.0
// Claims: a waiter that has waited for too long has the lock handed over to it.
//
// A lock word that is given back is FREE, and whoever is there takes it: a thread that comes by, or the owner, which is
// back before a woken sleeper has a CPU. A claim ends that luck. The next owner that gives the word back finds the
// claim, does not store FREE, and tells the claimant that the lock is its own:
//
//     +------+  begin   +--------+  the owner gives the lock back   +-----+
//     | NONE | -------> | STANDS | -------------------------------> | MET |
//     +------+          +--------+                                  +-----+
//        ^                  | end: it has found the word FREE, its deadline     | end: the lock is the claimant's
//        +------------------+ has passed, or it leaves its wait                  |
//        +-----------------------------------------------------------------------+
//
// Claims on a word are met in the order in which their waits began.
//
// claim.C1  Exclusion. The word is held from the claim's begin to its end, as far as the claim goes: it is met by the
//     lock's owner, which does not touch the lock after that; and a claimant that has taken the FREE word itself is the
//     owner, so nobody else can meet its claim any more.
// claim.C2  No lost wake. A handed word is HELD_WITH_SLEEPERS: threads may sleep on it that the claim has gone before
//     (word.I2, park/word_lock.h).
// claim.C3  Advice, but for C1. An owner may give the word back and not see a claim that is just being made, and code
//     that reaches the word through glibc sees none at all. So a claimant polls the word, and does not sleep for good.
// claim.C4  A claimant is critical from before its claim: the lock may be its own at any moment.
// claim.C5  A claim is in its list once at most, and not when its waiter has gone. It comes there at its begin, goes as
//     it is met or at its end, and each way out of the wait ends it: its return, and what undoes a wait that is left
//     (thread/left_wait.h says which ways there are). Signals are blocked at both, so no handler comes upon half of
//     one. A forked child, also one that a handler forks in here, begins with empty lists.
//
// The lists: claim_lists.c. Model: verify/lock/flexguard.pml with -DCLAIMS. Test: tests/park/claims_test.
#ifndef HF_PARK_CLAIMS_H
#define HF_PARK_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_hash.h"
#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_claim_state { HF_CLAIM_NONE = 0, HF_CLAIM_STANDS, HF_CLAIM_MET };

// On the claimant's stack. Zeroed memory is no claim.
struct hf_claim {
    struct hf_claim *next;
    const uint32_t *word;
    uint64_t since_ns;
    uint64_t met_ticks; // when it was met, or 0: the owner has not said
    uint32_t state;     // enum hf_claim_state; the claimant sleeps on it
};

enum { HF_CLAIM_LISTS_BITS = 6 };

// How many claims stand, of the words that share a list. Advice: a forked child finds out that none does.
extern uint32_t hf_claims_standing[1 << HF_CLAIM_LISTS_BITS] __attribute__((visibility("hidden")));

static inline unsigned hf_claims_list_of(const uint32_t *word) {
    return (unsigned)hf_address_hash((uintptr_t)word, HF_CLAIM_LISTS_BITS);
}

// On this word, or on another one that shares its list.
static inline bool hf_claims_stand(const uint32_t *word) {
    return HF_UNLIKELY(hf_load_relaxed(&hf_claims_standing[hf_claims_list_of(word)]) != 0);
}

// Of a claim that does not stand.
void hf_claim_begin(struct hf_claim *claim, const uint32_t *word, uint64_t since_ns)
    __attribute__((cold, visibility("hidden")));

// True: it has been met, and the lock is the caller's. May be called of no claim, by its thread.
bool hf_claim_end(struct hf_claim *claim) __attribute__((cold, visibility("hidden")));

static inline bool hf_claim_is_met(const struct hf_claim *claim) {
    return hf_load_acquire(&claim->state) == HF_CLAIM_MET; // pairs with the release in hf_claims_meet
}

// Of the word's owner, in place of giving it back: true, and it is the owner no more; or false. `now_ticks`: the time,
// for the claimant, or 0.
bool hf_claims_meet(uint32_t *word, uint64_t now_ticks) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
