// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/sleeper_counts.h"

#include "base/check.h"
#include "base/clock.h"
#include "park/membarrier.h"

enum {
    HF_FENCED_MIN_MS = 1,
    HF_FENCED_MAX_MS = 1024,
    HF_UNFENCED_FOR_LONG = 16, // times as long as it was FENCED before
};

struct hf_sleepers hf_sleepers_table[1 << HF_SLEEPERS_BITS];

static uint32_t now_ms(void) {
    return (uint32_t)(hf_monotonic_ns() / 1000000);
}

// One that was UNFENCED for long has gained more than the fence costs.
static void stay_fenced_for_a_while(struct hf_sleepers *sleepers) {
    uint32_t now = now_ms(), length = hf_load_relaxed(&sleepers->fenced_for_ms);
    uint32_t age = now - hf_load_relaxed(&sleepers->fenced_at_ms);
    if (age > HF_UNFENCED_FOR_LONG * length || length == 0)
        length = HF_FENCED_MIN_MS;
    else if (length < HF_FENCED_MAX_MS)
        length *= 2;
    hf_store_relaxed(&sleepers->fenced_for_ms, length);
    hf_store_relaxed(&sleepers->fenced_at_ms, now);
}

void hf_sleeper_comes(const uint32_t *word) {
    struct hf_sleepers *sleepers = hf_sleepers_at(word);
    // Acquire and release: a thread that finds it FENCED comes after the fence of a thread that has made it so.
    if (!(hf_fetch_add_acq_rel(&sleepers->state, 1) & HF_UNFENCED))
        return;
    hf_heavy_fence();
    stay_fenced_for_a_while(sleepers);
    hf_fetch_and_acq_rel(&sleepers->state, ~HF_UNFENCED);
}

void hf_sleeper_goes(const uint32_t *word) {
    uint32_t was __attribute__((unused)) = hf_fetch_sub_acq_rel(&hf_sleepers_at(word)->state, 1);
    HF_CHECK("sleep.S1", (was & ~HF_UNFENCED) != 0);
}

void hf_sleepers_try_unfenced(const uint32_t *word) {
    struct hf_sleepers *sleepers = hf_sleepers_at(word);
    // The clock last: seccomp's strict mode kills for it, where fences are forgone.
    if (hf_load_relaxed(&sleepers->state) != 0 || !hf_heavy_fence_is_quick() ||
        now_ms() - hf_load_relaxed(&sleepers->fenced_at_ms) < hf_load_relaxed(&sleepers->fenced_for_ms))
        return;
    hf_cas_release(&sleepers->state, 0, HF_UNFENCED);
}

// One of them is counted for each entry, and never goes.
void hf_sleepers_may_be_uncounted(void) {
    enum { HF_ENTRIES = sizeof(hf_sleepers_table) / sizeof(hf_sleepers_table[0]) };
    for (int i = 0; i < HF_ENTRIES; i++)
        hf_fetch_add_acq_rel(&hf_sleepers_table[i].state, 1);
    hf_heavy_fence();
    for (int i = 0; i < HF_ENTRIES; i++)
        hf_fetch_and_acq_rel(&hf_sleepers_table[i].state, ~HF_UNFENCED);
}

// The second for a sleeper that has seen its entry UNFENCED.
void hf_sleepers_forgo_fences(void) {
    hf_sleepers_may_be_uncounted();
    hf_heavy_fence_forgo();
}
