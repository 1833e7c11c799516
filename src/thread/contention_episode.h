// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread's contention episode: how long it has been coming to hot locks again and again, a moment apart. Its own
// thread alone looks at it.
//
//     visit, after it has stayed away for HF_EPISODE_GAP_US ---> an episode begins
//     visit, sooner -------------------------------------------> it goes on
//
// In microseconds modulo 2^32, so that both numbers have room in the thread record. A thread that comes after an hour
// may be taken for one that has just been here: advice.
#ifndef HF_THREAD_CONTENTION_EPISODE_H
#define HF_THREAD_CONTENTION_EPISODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

enum {
    // Less than a scheduler's slice, which the threads of one CPU wait for in turn; long enough that a switch between
    // two threads, some microseconds, does not matter. docs/flexguard.md, "Yielding".
    HF_EPISODE_US = 500,
    // More than two slices of a lock (lock/wait/defer_policy.h): a thread that is not back by then did not run, had
    // other work, or had the lock without a waiter.
    HF_EPISODE_GAP_US = 1000,
};

// Zeroed memory is an episode that ended long ago.
struct hf_contention_episode {
    uint32_t began_us;
    uint32_t visited_us;
};

static inline uint32_t hf_episode_time(uint64_t ns) {
    return (uint32_t)(ns / 1000);
}

// Relaxed: threads that share a record, when memory has run out, spoil each other's.

static inline void hf_episode_begin(struct hf_contention_episode *episode, uint64_t now_ns) {
    hf_store_relaxed(&episode->began_us, hf_episode_time(now_ns));
    hf_store_relaxed(&episode->visited_us, hf_episode_time(now_ns));
}

// The thread comes to a hot lock, at the time `now_ns` (CLOCK_MONOTONIC).
static inline void hf_episode_visit(struct hf_contention_episode *episode, uint64_t now_ns) {
    if (hf_episode_time(now_ns) - hf_load_relaxed(&episode->visited_us) > HF_EPISODE_GAP_US)
        hf_episode_begin(episode, now_ns);
    else
        hf_store_relaxed(&episode->visited_us, hf_episode_time(now_ns));
}

static inline bool hf_episode_is_long(const struct hf_contention_episode *episode, uint64_t now_ns) {
    return hf_episode_time(now_ns) - hf_load_relaxed(&episode->began_us) >= HF_EPISODE_US;
}

#endif
