// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether a forked child has put in order what its parent's other threads left in the middle of a change. A word in a
// page that the kernel zeroes in a child (MADV_WIPEONFORK): so a child knows it from its first instruction on, also
// after _Fork(), which runs no handlers.
//
//                fork             the first thread to come              it is done
//     KNOWN ---------> UNKNOWN -----------------------------> REPAIRED ----------> KNOWN
//
// fork.F1  Nobody uses what is in disorder: a thread that comes during a repair waits until the word is KNOWN.
// fork.F2  A repair is not interrupted: a signal handler of its own that came here would wait for itself.
#ifndef HF_PARK_FORK_MARK_H
#define HF_PARK_FORK_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/system_call.h"
#include "park/masked_lock.h"
#include "park/timed_sleep.h"

enum hf_fork_mark {
    HF_FORK_UNKNOWN = 0, // as the kernel leaves it
    HF_FORK_REPAIRED,    // right now
    HF_FORK_KNOWN,
};

// The pages that the kernel zeroes are of so many bytes at most: machines with larger ones do without.
enum { HF_FORK_PAGE_BYTES = 4096 };

// A mark in a page of its own. Of static storage.
struct hf_fork_page {
    uint32_t mark;
    char rest_of_page[HF_FORK_PAGE_BYTES - sizeof(uint32_t)];
} __attribute__((aligned(HF_FORK_PAGE_BYTES)));

// Before the first fork. Whole pages, with the mark among them. Says whether the kernel zeroes them in each child: else
// a fork handler has to call hf_fork_mark_unknown there. Until this is called the mark says nothing.
static inline bool hf_fork_watch(uint32_t *mark, void *pages, size_t bytes) {
    hf_store_relaxed(mark, (uint32_t)HF_FORK_KNOWN);
    return getauxval(AT_PAGESZ) <= HF_FORK_PAGE_BYTES && hf_sys_madvise(pages, bytes, MADV_WIPEONFORK) == 0;
}

static inline void hf_fork_mark_unknown(uint32_t *mark) {
    hf_store_relaxed(mark, (uint32_t)HF_FORK_UNKNOWN);
}

// What everybody asks first.
static inline bool hf_fork_is_known(const uint32_t *mark) {
    return HF_LIKELY(hf_load_acquire(mark) == HF_FORK_KNOWN); // pairs with the release in hf_fork_mark_known
}

// True: the caller repairs, then calls hf_fork_mark_known with the same `saved`. False: it has been done.
static inline bool hf_fork_begin_repair(uint32_t *mark, sigset_t *saved) {
    enum { HF_REPAIR_SLEEP_NS = 50 * 1000 };
    hf_block_all_signals(saved); // fork.F2
    if (hf_cas_acquire(mark, (uint32_t)HF_FORK_UNKNOWN, HF_FORK_REPAIRED))
        return true;
    hf_unblock_signals(saved);
    while (!hf_fork_is_known(mark)) // fork.F1
        hf_timed_sleep(HF_REPAIR_SLEEP_NS);
    return false;
}

static inline void hf_fork_mark_known(uint32_t *mark, const sigset_t *saved) {
    hf_store_release(mark, (uint32_t)HF_FORK_KNOWN); // pairs with the acquire in hf_fork_is_known
    hf_unblock_signals(saved);
}

#endif
