// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread's spell: how long it has been coming to hot locks again and again, a moment apart. Its own thread alone
// looks at it.
//
//     visit, after it has stayed away for HF_SPELL_GAP_US ---> a spell begins
//     visit, sooner ------------------------------------------> it goes on
//
// In microseconds modulo 2^32, so that both numbers have room in the thread record. Who comes after an hour may be
// taken for one who has just been here: advice.
#ifndef HF_THREAD_SPELL_H
#define HF_THREAD_SPELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

enum {
    // Less than a scheduler's slice, which the threads of one CPU wait for in turn; long enough that a switch between
    // two threads, some microseconds, does not matter. docs/flexguard.md, "In turn".
    HF_SPELL_US = 500,
    // More than two slices of a lock (lock/wait/defer_policy.h): who is not back by then did not run, had other work,
    // or had the lock without anybody who waited.
    HF_SPELL_GAP_US = 1000,
};

// Zeroed memory is a spell that ended long ago.
struct hf_spell {
    uint32_t began_us;
    uint32_t visited_us;
};

static inline uint32_t hf_spell_time(uint64_t ns) {
    return (uint32_t)(ns / 1000);
}

// Relaxed: threads that share a record, when memory has run out, spoil each other's.

static inline void hf_spell_begin(struct hf_spell *spell, uint64_t now_ns) {
    hf_store_relaxed(&spell->began_us, hf_spell_time(now_ns));
    hf_store_relaxed(&spell->visited_us, hf_spell_time(now_ns));
}

// The thread comes to a hot lock, at the time `now_ns` (CLOCK_MONOTONIC).
static inline void hf_spell_visit(struct hf_spell *spell, uint64_t now_ns) {
    if (hf_spell_time(now_ns) - hf_load_relaxed(&spell->visited_us) > HF_SPELL_GAP_US)
        hf_spell_begin(spell, now_ns);
    else
        hf_store_relaxed(&spell->visited_us, hf_spell_time(now_ns));
}

static inline bool hf_spell_is_over(const struct hf_spell *spell, uint64_t now_ns) {
    return hf_spell_time(now_ns) - hf_load_relaxed(&spell->began_us) >= HF_SPELL_US;
}

#endif
