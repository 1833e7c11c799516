// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts of sleepers, and of threads about to sleep, so that a lock can be given back without an atomic instruction.
//
// An unlock has to store FREE and to learn whether somebody has announced a sleep. One exchange does both, and costs
// more than the rest of an unlock. A plain store may overwrite an announcement; so a thread that stores plainly looks
// afterwards whether anybody is counted, and wakes. Each of the two stores and then loads what the other stores, which
// needs a fence on both sides; a lock is given back a million times for each sleep, so the sleeper pays for both
// (membarrier.h), and only if somebody stores plainly:
//
//              256th unlock, nobody is counted, and it has been quiet for a while
//     +--------+ -----------------------------------------------------------> +----------+
//     | FENCED |                                                              | UNFENCED |
//     +--------+ <----------------------------------------------------------- +----------+
//      unlocks exchange      a sleeper counts itself, then a heavy fence       unlocks store, and look
//
// sleep.S1  No announcement is lost. A sleeper on a word is counted from before its announcement until after its
//     sleep, and in between there was a heavy fence: its own, or that of a thread that has made the state FENCED, since
//     when somebody has always been counted or nobody has stored plainly. So of an unlock that stores plainly the store
//     is seen by the announcer, which does not find the word as that unlock's owner had it; or its look comes after
//     that fence, sees that somebody may have come, and it wakes.
// sleep.S2  Release is the last touch (word.I4, park/word_lock.h): counts lie in a table, found by the word's address.
//     A thread that shares an entry is woken once too often, or exchanges where it need not.
// A thread that never comes back from its sleep (it was forked away, cancelled at once, or left a signal handler by
// longjmp) leaves its entry FENCED.
//
// A heavy fence interrupts each CPU that runs one of our threads. So an entry that a sleeper has FENCED stays so, the
// longer the sooner it comes back: for a millisecond at first, for a second at last.
//
// Models: verify/lock/word_lock.pml and verify/lock/flexguard.pml, with the store buffers of those that store plainly.
// Orderings, for processors that also load early: verify/litmus/sleepers.litmus and second_sleeper.litmus.
#ifndef HF_PARK_SLEEPER_COUNTS_H
#define HF_PARK_SLEEPER_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_hash.h"
#include "base/atomic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HF_SLEEPERS_BITS = 10 };
#define HF_UNFENCED UINT32_C(0x80000000)

// Zeroed memory: FENCED, nobody is counted.
struct hf_sleepers {
    uint32_t state; // HF_UNFENCED, plus how many are counted
    // Advice: since when it is FENCED, and for how long. Of a clock that comes round.
    uint32_t fenced_at_ms;
    uint32_t fenced_for_ms;
} __attribute__((aligned(16))); // in one cache line

extern struct hf_sleepers hf_sleepers_table[1 << HF_SLEEPERS_BITS] __attribute__((visibility("hidden")));

static inline struct hf_sleepers *hf_sleepers_at(const uint32_t *word) {
    return &hf_sleepers_table[hf_address_hash((uint64_t)(uintptr_t)word, HF_SLEEPERS_BITS)];
}

// UNFENCED, and nobody is counted: before an unlock, that it may store plainly; after that, that it need not wake.
static inline bool hf_nobody_sleeps(const struct hf_sleepers *sleepers) {
    return hf_load_relaxed(&sleepers->state) == HF_UNFENCED;
}

// As far as they are counted, with those on words that share the entry.
static inline uint32_t hf_sleepers_on(const uint32_t *word) {
    return hf_load_relaxed(&hf_sleepers_at(word)->state) & ~HF_UNFENCED;
}

// Before a sleep on the word is announced, and after it.
void hf_sleeper_comes(const uint32_t *word) __attribute__((visibility("hidden")));
void hf_sleeper_goes(const uint32_t *word) __attribute__((visibility("hidden")));

// From now on sleepers may come that nobody counts: all entries are FENCED for good.
void hf_sleepers_may_be_uncounted(void) __attribute__((cold, visibility("hidden")));
// The same, and there are no heavy fences any more, of sleepers that are about to make one either.
void hf_sleepers_forgo_fences(void) __attribute__((cold, visibility("hidden")));

// Asked at each so many-th unlock of a word that told of no sleeper.
enum { HF_RELEASES_FENCED = 256 };
void hf_sleepers_try_unfenced(const uint32_t *word) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
