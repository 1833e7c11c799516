// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/share.h"

uint32_t hf_weight_of_nice(int nice) {
    // A step of one is a tenth of the processor between two threads: a factor of 1.25.
    static const uint32_t weights[] = {
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, // -20
        9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,  // -10
        1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,   // 0
        110,   87,    70,    56,    45,    36,    29,    23,    18,    15,    // 10
    };
    if (nice < HF_NICE_MIN)
        nice = HF_NICE_MIN;
    if (nice > HF_NICE_MAX)
        nice = HF_NICE_MAX;
    return weights[nice - HF_NICE_MIN];
}

void hf_share_set_weight(struct hf_share *share, uint32_t weight) {
    share->weight = weight;
    // Atomic: the holder may be counting a section in this moment.
    hf_store_relaxed(&share->per_tick, (HF_WEIGHT_OF_NICE_0 << 16) / weight);
}

void hf_share_add(struct hf_share_totals *totals, const struct hf_share *share) {
    if (!share->waiting && (share->away || share->spares || hf_share_is_dead(share)))
        return; // nobody is there who could use the lock now
    totals->weight += share->weight;
    if (share->waiting)
        return;
    uint64_t used = hf_load_relaxed(&share->used), seen = hf_load_relaxed(&share->last_seen);
    if (used < totals->idle_used_min)
        totals->idle_used_min = used;
    if (seen > totals->idle_seen_last)
        totals->idle_seen_last = seen;
}

// The end of its opportunity's price: it has used `ticks`, and for weight/total of all time it may.
static uint64_t paid_off(const struct hf_share *share, const struct hf_share_totals *totals) {
    uint64_t virtual_ticks = hf_load_relaxed(&share->used) - share->used_before_slice;
    // Long double: 64 bits times the weights of many classes.
    long double ticks = (long double)virtual_ticks * (long double)totals->weight / HF_WEIGHT_OF_NICE_0;
    return share->slice_began + (ticks < (long double)HF_SECTION_TICKS_MAX ? (uint64_t)ticks : HF_SECTION_TICKS_MAX);
}

uint64_t hf_share_banned_until(const struct hf_share *share, const struct hf_share_totals *totals, uint64_t virtual_now,
                               uint64_t now, uint64_t inactive_after) {
    uint64_t behind = totals->idle_used_min;
    if (behind == UINT64_MAX)
        return now;
    if (behind < virtual_now)
        behind = virtual_now;
    if (hf_load_relaxed(&share->used) <= behind)
        return now;
    uint64_t paid = paid_off(share, totals);
    uint64_t inactive = totals->idle_seen_last + inactive_after;
    return paid < inactive ? paid : inactive;
}
