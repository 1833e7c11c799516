// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/heirs.h"

// Zeroed by the kernel in a forked child, which has none of its parent's waiters.
struct hf_heir hf_heirs[1 << HF_HEIRS_BITS] HF_FORK_PAGES;
_Static_assert(sizeof(hf_heirs) % HF_FORK_PAGE_BYTES == 0, "nothing else is zeroed");

static void start_over(void);
static struct hf_fork_guard guard = HF_FORK_GUARD(start_over);

// Writes no more than it has to: what a child writes it gets a copy of.
static void start_over(void) {
    for (int i = 0; i < 1 << HF_HEIRS_BITS && !guard.is_zeroed; i++)
        if (hf_load_relaxed(&hf_heirs[i].state) != 0)
            hf_store_relaxed(&hf_heirs[i].state, 0);
}

__attribute__((constructor)) static void watch_forks(void) {
    hf_fork_guard_watch(&guard, hf_heirs, sizeof(hf_heirs));
}
