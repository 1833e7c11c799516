// SPDX-License-Identifier: MIT OR Apache-2.0
// fork.F1, F2: fork_guard.h.
#include "park/fork_guard.h"

#include <pthread.h>
#include <sys/auxv.h>

#include "base/signal_mask.h"
#include "base/system_call.h"
#include "park/timed_sleep.h"

enum { HF_REPAIR_SLEEP_NS = 50 * 1000 };

uint32_t hf_fork_unwatched = HF_FORK_KNOWN;

// One page for all: a child gets it at its first repair.
static uint32_t marks[HF_FORK_PAGE_BYTES / sizeof(uint32_t)] HF_FORK_PAGES;
static uint32_t marks_used;
static bool marks_are_zeroed;

static struct hf_fork_guard *first_guard;

void hf_fork_guard_repair(struct hf_fork_guard *guard) {
    sigset_t saved;
    hf_block_all_signals(&saved); // fork.F2
    if (hf_cas_acquire(guard->mark, (uint32_t)HF_FORK_UNKNOWN, HF_FORK_REPAIRED)) {
        guard->repair();
        hf_store_release(guard->mark, (uint32_t)HF_FORK_KNOWN); // pairs with the acquire in hf_fork_guard_is_in_order
    }
    hf_unblock_signals(&saved);
    while (!hf_fork_guard_is_in_order(guard)) // fork.F1
        hf_timed_sleep(HF_REPAIR_SLEEP_NS);
}

static void repair_all(void) {
    for (struct hf_fork_guard *guard = hf_load_acquire(&first_guard); guard; guard = guard->next) {
        if (!marks_are_zeroed)
            hf_store_relaxed(guard->mark, (uint32_t)HF_FORK_UNKNOWN);
        hf_fork_guard_repair_if_forked(guard);
    }
}

static bool kernel_zeroes(void *pages, size_t bytes) {
    return getauxval(AT_PAGESZ) <= HF_FORK_PAGE_BYTES && hf_sys_madvise(pages, bytes, MADV_WIPEONFORK) == 0;
}

void hf_fork_guard_watch(struct hf_fork_guard *guard, void *pages, size_t bytes) {
    if (guard->mark != &hf_fork_unwatched)
        return;
    uint32_t number = hf_fetch_add_relaxed(&marks_used, 1);
    if (number == 0) {
        marks_are_zeroed = kernel_zeroes(marks, sizeof(marks));
        pthread_atfork(NULL, NULL, repair_all);
    }
    uint32_t *mark = &marks[number];
    hf_store_relaxed(mark, (uint32_t)HF_FORK_KNOWN);
    guard->is_zeroed = pages && kernel_zeroes(pages, bytes);
    hf_store_release(&guard->mark, mark);
    do {
        guard->next = hf_load_relaxed(&first_guard);
    } while (!hf_cas_release(&first_guard, guard->next, guard)); // pairs with the acquire in repair_all
}
