// SPDX-License-Identifier: MIT OR Apache-2.0
// What a forked child has to put in order first: lists that its parent's other threads have left in the middle of a
// change, with locks that nobody in the child will give back. A guard says whether that has been done. Its mark is in
// memory that the kernel zeroes in a child (MADV_WIPEONFORK): so a child knows it from its first instruction on, also
// in fork handlers that are registered before ours, and after _Fork(), which runs none.
//
//                fork             the first thread to come              it is done
//     KNOWN ---------> UNKNOWN -----------------------------> REPAIRED ----------> KNOWN
//
// A fork handler comes, too: users of what is guarded need not all ask. Where the kernel zeroes no marks it makes them
// UNKNOWN before.
//
// fork.F1  Nobody uses what is in disorder: a thread that comes during a repair waits until the mark is KNOWN.
// fork.F2  A repair is not interrupted: a signal handler of its own that came here would wait for itself.
//
// Test: tests/park/fork_guard_test.
#ifndef HF_PARK_FORK_GUARD_H
#define HF_PARK_FORK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_fork_mark {
    HF_FORK_UNKNOWN = 0, // as the kernel leaves it
    HF_FORK_REPAIRED,    // right now
    HF_FORK_KNOWN,
};

// The pages that the kernel zeroes are of so many bytes at most: machines with larger ones do without.
enum { HF_FORK_PAGE_BYTES = 4096 };
#define HF_FORK_PAGES __attribute__((aligned(HF_FORK_PAGE_BYTES)))

extern uint32_t hf_fork_unwatched __attribute__((visibility("hidden"))); // HF_FORK_KNOWN

// Of static storage.
struct hf_fork_guard {
    uint32_t *mark;       // hf_fork_unwatched until the guard is watched
    void (*repair)(void); // calls nobody who may be in need of it
    bool is_zeroed;       // by the kernel: the pages that the guard was given
    struct hf_fork_guard *next;
};
#define HF_FORK_GUARD(how_to_repair)                                                                                   \
    { .mark = &hf_fork_unwatched, .repair = (how_to_repair), .is_zeroed = false, .next = NULL }

// Before the first fork; a second time it does nothing. `pages`: whole pages that are to be zeroed in a child, too, or
// NULL. A repair that finds that they are not (`is_zeroed`) sets them right itself.
void hf_fork_guard_watch(struct hf_fork_guard *guard, void *pages, size_t bytes)
    __attribute__((cold, visibility("hidden")));

// For hf_fork_guard_repair_if_forked.
void hf_fork_guard_repair(struct hf_fork_guard *guard) __attribute__((cold, visibility("hidden")));

static inline bool hf_fork_guard_is_in_order(const struct hf_fork_guard *guard) {
    return HF_LIKELY(hf_load_acquire(guard->mark) == HF_FORK_KNOWN); // pairs with the release at a repair's end
}

static inline void hf_fork_guard_repair_if_forked(struct hf_fork_guard *guard) {
    if (HF_UNLIKELY(!hf_fork_guard_is_in_order(guard)))
        hf_fork_guard_repair(guard);
}

#ifdef __cplusplus
}
#endif

#endif
