// SPDX-License-Identifier: MIT OR Apache-2.0
// Which critical sections of a slice are timed. Two looks at the clock take as long as all the rest of a short section:
// so while sections follow each other quickly, one of HF_TIMING_BLOCK is timed, and stands for all of them.
//
//             quick_needed timed sections, one after another, that were quick
//     EVERY ONE -------------------------------------------------------------> ONE OF A BLOCK, at random
//         ^                                                                        |
//         +------------------------------------------------------------------------+
//           the time since the last timed one was too long for so many quick ones;
//           or the slice ends soon; or another one begins
//
// Quick: from the end of one section to the end of the next, on the average of a block, at most HF_QUICK_NS. So a long
// section that is not timed is noticed with the next one that is, and so is a pause: which it was can't be told.
//
// uscl.U7  What is not timed is bounded. Less than two blocks of sections go by from one that is timed to the next, all
//     within one slice, and none when the slice ends within the time that so many quick ones take: a slice of such
//     sections ends as early as if each one were timed. Each section has the same chance to be timed, which does not
//     depend on its length, and counts by one over that chance: what a class has used is right on the average. How far
//     it can be off is bounded, too: beyond the end of its slice a section counts once, timed or not
//     (hf_uscl_count_overtime); and a class whose long sections were met among quick ones has to be quick for longer
//     before they are met again.
//
// All under the lock's word.
#ifndef HF_LOCK_SCL_SECTION_TIMING_H
#define HF_LOCK_SCL_SECTION_TIMING_H

#include <stdint.h>

#include "base/clock.h"
#include "lock/scl/share.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HF_TIMING_BLOCK_BITS = 3,
    HF_TIMING_BLOCK = 1 << HF_TIMING_BLOCK_BITS,
    HF_QUICK_NEEDED_MIN = 1 << 6,
    HF_QUICK_NEEDED_MAX = 1 << 15, // fits 16 bits; more quick sections than a slice of 2 ms has
    HF_QUICK_NEEDED_FACTOR = 16,   // of long sections one in a block is met by one that is timed
    HF_QUICK_NEEDED_DECAY = 8,     // each slice forgets so much of it
};

// Two looks at the clock cost a tenth of that or less.
#define HF_QUICK_NS 500.0

struct hf_section_timing {
    uint64_t slice_end;   // ticks: of the slice that runs
    uint64_t timed_until; // ticks: when the last timed section ended
    uint64_t quick_ticks; // HF_QUICK_NS
    uint32_t seed;
    uint16_t quick;      // timed sections that were, one after another
    uint16_t stands_for; // sections, for each that is timed: 1 or HF_TIMING_BLOCK
    uint16_t skipped;    // sections before the one that is timed next
    uint16_t behind;     // sections of its block behind that
};

static inline void hf_timing_begin_slice(struct hf_section_timing *timing, struct hf_share *share, uint64_t now,
                                         uint64_t slice_end) {
    timing->slice_end = slice_end;
    timing->timed_until = now;
    timing->quick_ticks = hf_ticks_of_ns(HF_QUICK_NS);
    timing->quick = 0;
    timing->stands_for = 1;
    timing->skipped = timing->behind = 0;
    share->quick_needed -= share->quick_needed / HF_QUICK_NEEDED_DECAY;
}

// A timed section, which stood for `stands_for`, ends: what it counts.
static inline uint64_t hf_timing_ticks(const struct hf_section_timing *timing, uint64_t began, uint64_t now,
                                       uint32_t stands_for) {
    if (HF_LIKELY(stands_for <= 1))
        return now - began;
    uint64_t end = now < timing->slice_end ? now : timing->slice_end;
    return now - began + (end > began ? (end - began) * (stands_for - 1) : 0);
}

static inline void hf_timing_time_every_one(struct hf_section_timing *timing) {
    timing->quick = 0;
    timing->stands_for = 1;
    timing->skipped = timing->behind = 0;
}

// One of the next block, each as likely as the others.
static inline uint16_t hf_timing_draw(struct hf_section_timing *timing) {
    timing->seed = timing->seed * 1664525 + 1013904223; // Numerical Recipes, "quick and dirty"
    uint32_t place = timing->seed >> (32 - HF_TIMING_BLOCK_BITS);
    timing->skipped = (uint16_t)(timing->behind + place);
    timing->behind = (uint16_t)(HF_TIMING_BLOCK - 1 - place);
    return timing->skipped;
}

static inline uint32_t hf_timing_quick_needed(const struct hf_share *share) {
    uint32_t least = HF_QUICK_NEEDED_MIN;
    return share->quick_needed > least ? share->quick_needed : least;
}

// The timed section of the slice's owner which ends now began then. How many of its next ones are not timed.
static inline uint16_t hf_timing_next(struct hf_section_timing *timing, struct hf_share *share, uint64_t began,
                                      uint64_t now) {
    uint64_t quick_ticks = timing->quick_ticks, elapsed = now - timing->timed_until;
    timing->timed_until = now;
    if (HF_UNLIKELY(elapsed > quick_ticks * (timing->skipped + 1u))) {
        if (timing->stands_for > 1 && now - began > quick_ticks) {
            uint32_t needed = HF_QUICK_NEEDED_FACTOR * hf_timing_quick_needed(share);
            share->quick_needed = needed < (uint32_t)HF_QUICK_NEEDED_MAX ? needed : (uint32_t)HF_QUICK_NEEDED_MAX;
        }
        hf_timing_time_every_one(timing);
        return 0;
    }
    if (timing->stands_for == 1 && ++timing->quick < hf_timing_quick_needed(share))
        return 0;
    if (HF_UNLIKELY(now + 2 * HF_TIMING_BLOCK * quick_ticks >= timing->slice_end)) {
        hf_timing_time_every_one(timing);
        return 0;
    }
    timing->stands_for = HF_TIMING_BLOCK;
    return hf_timing_draw(timing);
}

#ifdef __cplusplus
}
#endif

#endif
