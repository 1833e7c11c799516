// SPDX-License-Identifier: MIT OR Apache-2.0
// Heirs: waiters that poll a word, to which an unlock leaves the lock where it would have to wake a sleeper.
//
// A thread that is woken while another one polls comes too late: the other one has the lock long before the kernel has
// found a CPU for it. And where all CPUs have something to do, if only polling, that CPU is the owner's, or the
// poller's. So one that polls makes itself known when it finds that threads sleep for the lock, and the owner marks it
// before it gives the lock back:
//
//              it polls, and threads sleep             the owner, before it stores FREE
//     +--------+ ----------------------------> +------+ -----------------------------> +------+
//     | NOBODY |                               | HEIR |                                | LEFT |
//     +--------+ <---------------------------- +------+                                +------+
//        ^  ^    it has the lock, or leaves without                                     |    |
//        |  +---------------------------------------------------------------------------+    | it has the lock
//        |                              it leaves without the lock                           v
//        |                                                                                +------+
//        +------------------------------------------------------------------------------- | TOOK |
//                                       another one polls                                 +------+
//
// heir.H1  No lost wake. To word.I2 (park/word_lock.h) an heir that has been marked is a woken thread, which no call of
//     the kernel was needed for: it stores HELD_WITH_SLEEPERS as soon as it has the lock, announces sleepers before it
//     sleeps, and wakes one if it leaves its wait.
// heir.H2  After its release the owner looks again: it wakes nobody if it finds LEFT or TOOK. An heir that leaves
//     without the lock is none any more before it looks at the word to sleep on it, and a fence stands between the two
//     on either side: so one that is found LEFT will see the word as FREE as the release has made it, or later. TOOK is
//     stored by a marked heir alone that has the lock: after that release, since the owner has found HEIR or LEFT
//     before.
// Release is the last touch (word.I4): heirs lie in a table, found by the word's address. Of two words with one entry
// one may have no heir, nothing else.
//
// Model: verify/lock/flexguard.pml with -DHEIRS; orderings: verify/litmus/heir.litmus. Tests: tests/park/heirs_test,
// tests/lock/left_sleepers_test.
#ifndef HF_PARK_HEIRS_H
#define HF_PARK_HEIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_hash.h"
#include "base/atomic.h"
#include "park/fork_guard.h"
#include "park/sleeper_counts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HF_HEIRS_BITS = 8 };

// In the bits of a word's address that are 0. Neither: HEIR.
enum { HF_HEIR_LEFT = 1, HF_HEIR_TOOK = 2 };

// Zeroed memory: NOBODY.
struct hf_heir {
    uintptr_t state;   // the word, and which
    uint64_t woken_ns; // advice: when a sleeper was woken although there was an heir
};

extern struct hf_heir hf_heirs[1 << HF_HEIRS_BITS] __attribute__((visibility("hidden")));

static inline struct hf_heir *hf_heir_of(const uint32_t *word) {
    return &hf_heirs[hf_address_hash((uintptr_t)word, HF_HEIRS_BITS)];
}

// True: the caller, who polls, is the word's heir.
static inline bool hf_heir_begin(const uint32_t *word) {
    uintptr_t *state = &hf_heir_of(word)->state, was = hf_load_relaxed(state);
    return (was == 0 || (was & HF_HEIR_TOOK)) && hf_sleepers_on(word) != 0 &&
           hf_cas_relaxed(state, was, (uintptr_t)word);
}

// Of the heir, which has the lock, or is about to leave without. True: sleepers are left to it. A wait that is left may
// end what is another heir's of the word, and wakes a sleeper in its place; that one finds nothing then.
static inline bool hf_heir_end(const uint32_t *word, bool has_lock) {
    uintptr_t *state = &hf_heir_of(word)->state, heir = (uintptr_t)word, was, is_left, next;
    do {
        was = hf_load_relaxed(state);
        is_left = was & HF_HEIR_LEFT;
        next = is_left && has_lock ? heir | HF_HEIR_TOOK : 0;
    } while ((was & ~(uintptr_t)HF_HEIR_LEFT) == heir && !hf_cas_relaxed(state, was, next));
    if (!has_lock)
        hf_fence_seq_cst(); // heir.H2: pairs with the fence in hf_heir_has_sleepers
    return is_left && (was & ~(uintptr_t)HF_HEIR_LEFT) == heir;
}

static inline bool hf_heir_may_be_marked(const uint32_t *word) {
    return (hf_load_relaxed(&hf_heir_of(word)->state) & ~(uintptr_t)HF_HEIR_LEFT) == (uintptr_t)word;
}

// Of the owner, before its release: has it marked an heir?
static inline bool hf_heir_mark(const uint32_t *word) {
    uintptr_t *state = &hf_heir_of(word)->state, was = hf_load_relaxed(state), left = (uintptr_t)word | HF_HEIR_LEFT;
    return was == left || (was == (uintptr_t)word && hf_cas_relaxed(state, was, left));
}

// Of one that has, after its release: are the sleepers the heir's?
static inline bool hf_heir_has_sleepers(const uint32_t *word) {
    hf_fence_seq_cst(); // heir.H2: pairs with the fence in hf_heir_end
    uintptr_t state = hf_load_relaxed(&hf_heir_of(word)->state);
    return state == ((uintptr_t)word | HF_HEIR_LEFT) || state == ((uintptr_t)word | HF_HEIR_TOOK);
}

// Of the same, which is about to wake one after all. False: the heir has them already.
static inline bool hf_heir_unmark(const uint32_t *word) {
    return hf_cas_relaxed(&hf_heir_of(word)->state, (uintptr_t)word | HF_HEIR_LEFT, (uintptr_t)word);
}

#ifdef __cplusplus
}
#endif

#endif
