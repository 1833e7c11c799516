// SPDX-License-Identifier: MIT OR Apache-2.0
// How often a lock is released, as far as its waiters know: each samples its count of releases.
//
//                   a sample after a window
//     not known  ---------------------------------> known  --+  the same: known anew
//               <---------------------------------          <+
//                   the sample comes too late: the count may have wrapped
//
// Advice, as all that is made of it: two threads that sample at once may spoil a window.
#ifndef HF_LOCK_WAIT_RELEASE_RATE_H
#define HF_LOCK_WAIT_RELEASE_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "lock/wait/defer_policy.h"

// Zeroed memory: not known.
struct hf_release_rate {
    uint64_t since_ns;
    uint32_t in_a_millisecond; // and one; 0: not known
    hf_release_count counted;  // at since_ns
};

// And one, so that none is not 0.
static inline uint32_t hf_releases_in_a_millisecond(hf_release_count before, hf_release_count after, uint64_t took_ns) {
    return (uint32_t)((hf_release_count)(after - before) * UINT64_C(1000000) / took_ns) + 1;
}

static inline void hf_release_rate_begin(struct hf_release_rate *rate, hf_release_count releases, uint64_t now_ns) {
    hf_store_relaxed(&rate->since_ns, now_ns);
    hf_store_relaxed(&rate->in_a_millisecond, 0);
    hf_store_relaxed(&rate->counted, releases);
}

// A sample, at the time `now_ns` (CLOCK_MONOTONIC), where windows are as long as `window_ns` and the count has not
// wrapped after less than `stale_ns`. True when it has ended a window.
static inline bool hf_release_rate_look_after(struct hf_release_rate *rate, hf_release_count releases, uint64_t now_ns,
                                              uint64_t window_ns, uint64_t stale_ns) {
    uint64_t since_ns = hf_load_relaxed(&rate->since_ns);
    uint64_t age_ns = hf_ns_since(since_ns, now_ns);
    if (age_ns < window_ns || !hf_cas_relaxed(&rate->since_ns, since_ns, now_ns))
        return false;
    hf_release_count before = hf_load_relaxed(&rate->counted);
    bool known = age_ns < stale_ns;
    hf_store_relaxed(&rate->counted, releases);
    hf_store_relaxed(&rate->in_a_millisecond, known ? hf_releases_in_a_millisecond(before, releases, age_ns) : 0);
    return true;
}

static inline bool hf_release_rate_look(struct hf_release_rate *rate, hf_release_count releases, uint64_t now_ns) {
    return hf_release_rate_look_after(rate, releases, now_ns, HF_RATE_WINDOW_NS, HF_RATE_STALE_NS);
}

// In a millisecond, and one; 0: not known.
static inline uint32_t hf_release_rate_known(const struct hf_release_rate *rate) {
    return hf_load_relaxed(&rate->in_a_millisecond);
}

static inline bool hf_rate_is_slow(uint32_t in_a_millisecond) {
    return in_a_millisecond <= 1000 * 1000 / HF_RATE_SLOW_NS;
}

#endif
