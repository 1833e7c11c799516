// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// How a futex call that sleeps looks, without the stack behind it: shared by BPF programs and their loaders. The
// includer provides fixed-width types and bool.
#ifndef HF_MONITOR_BPF_FUTEX_LOOK_H
#define HF_MONITOR_BPF_FUTEX_LOOK_H

enum hf_futex_look {
    HF_FUTEX_IS_TWO = 1,    // the word was expected to be 2, as mutexes of glibc's, Holdfast's, Rust's and Go's have it
                            // while threads sleep for them, and conditions and joins of musl's
    HF_FUTEX_IS_OWNED = 2,  // its highest bit beside an owner, as musl's mutexes and all robust ones have it then
    HF_FUTEX_INHERITS = 4,  // priority inheritance: a mutex
    HF_FUTEX_BY_BITSET = 8, // FUTEX_WAIT_BITSET: not one of glibc's mutexes, unless it has a deadline
};
enum { HF_FUTEX_OF_LOCK = HF_FUTEX_IS_TWO | HF_FUTEX_IS_OWNED | HF_FUTEX_INHERITS };

// All bits are what many have for "a thread sleeps here", and no owner.
static inline uint32_t hf_futex_look_of(uint32_t expected) {
    const uint32_t two = 2, highest = 0x80000000u, all = 0xffffffffu;
    if (expected == two)
        return HF_FUTEX_IS_TWO;
    return expected > highest && expected != all ? HF_FUTEX_IS_OWNED : 0;
}

#endif
