// SPDX-License-Identifier: MIT OR Apache-2.0
// Atomic operations on plain integers and pointers, one name for each ordering that Holdfast uses.
//
// The words these act on live inside other people's structures (pthread_mutex_t) and inside pages that the
// kernel writes, so they are plain integers rather than _Atomic types.
//
// No other file of src/ has atomics (tools/check-atomics), so the simulator sees each access of the locks to shared
// memory by having a header of its own in this one's place (sim/seams, docs/simulator.md).
#ifndef HF_BASE_ATOMIC_H
#define HF_BASE_ATOMIC_H

#include <stdbool.h>

#define hf_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define hf_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define hf_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define hf_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

// Plain accesses to words that only the caller uses at the time, on lines that others use as well.
#define hf_load_own(p) (*(p))
#define hf_store_own(p, v) (*(p) = (v))

// Of types that are no integers: into *to, and from *from.
#define hf_load_relaxed_into(p, to) __atomic_load((p), (to), __ATOMIC_RELAXED)
#define hf_store_relaxed_from(p, from) __atomic_store((p), (from), __ATOMIC_RELAXED)

#define hf_exchange_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define hf_exchange_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define hf_exchange_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define hf_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

#define hf_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define hf_fetch_add_acquire(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define hf_fetch_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define hf_fetch_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define hf_fetch_sub_release(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELEASE)
#define hf_fetch_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define hf_fetch_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define hf_fetch_or_acquire(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQUIRE)
#define hf_fetch_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define hf_fetch_and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)

// Compare-and-swap: true when *p was `from` and is now `to`. On failure nothing is stored and nothing is ordered.
#define hf_cas_relaxed(p, from, to)                                                                                    \
    ({                                                                                                                 \
        __typeof__(*(p)) hf_expected_ = (from);                                                                        \
        __atomic_compare_exchange_n((p), &hf_expected_, (to), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);              \
    })
#define hf_cas_acquire(p, from, to)                                                                                    \
    ({                                                                                                                 \
        __typeof__(*(p)) hf_expected_ = (from);                                                                        \
        __atomic_compare_exchange_n((p), &hf_expected_, (to), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);              \
    })
#define hf_cas_release(p, from, to)                                                                                    \
    ({                                                                                                                 \
        __typeof__(*(p)) hf_expected_ = (from);                                                                        \
        __atomic_compare_exchange_n((p), &hf_expected_, (to), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);              \
    })

#define hf_cas_acq_rel(p, from, to)                                                                                    \
    ({                                                                                                                 \
        __typeof__(*(p)) hf_expected_ = (from);                                                                        \
        __atomic_compare_exchange_n((p), &hf_expected_, (to), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);              \
    })

// The same for loops: on failure *from is what *p was instead; loaded with acquire where success would acquire.
#define hf_cas_relaxed_or_load(p, from, to)                                                                            \
    __atomic_compare_exchange_n((p), (from), (to), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define hf_cas_acquire_or_load(p, from, to)                                                                            \
    __atomic_compare_exchange_n((p), (from), (to), false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define hf_cas_release_or_load(p, from, to)                                                                            \
    __atomic_compare_exchange_n((p), (from), (to), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)

#define hf_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

// Orders what this thread's own CPU executes before and after, as seen by code that interrupts the thread there:
// the monitor at a context switch, or a signal handler. It costs no instruction.
#define hf_program_order() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
