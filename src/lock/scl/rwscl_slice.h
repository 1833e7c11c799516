// SPDX-License-Identifier: MIT OR Apache-2.0
// How long the slices of RW-SCL are, and when a kind of thread is taken to stay away. Advice only: a thread that may
// enter is decided by the words of rwscl_state.h.
//
// A slice lasts as long as the ratio says, and longer by what the other kind's last slice was too long, in proportion:
// a critical section that outlasts its slice, and threads that were slow to leave, are made up for. What a slice is too
// long while nobody waits for its end does not count. A writer that ends the writers' slice wakes readers, which may
// get its CPU before it has asked again: until it has run for a while, or slept, it counts as one that waits. A reader
// that ends the readers' slice wakes a writer, which may get its CPU too: readers that were there when their slice
// ended count as waiting from then on, and as about to come when they have been given the next one.
//
// A slice that others wait for ends early when nobody uses it for HF_RWSCL_IDLE_US: time to come back in after a look
// at something else, about what two hand-overs cost. A kind that has once not come back so soon loses its slice at once
// when it leaves the lock, until it has come back soon after it had to leave.
#ifndef HF_LOCK_SCL_RWSCL_SLICE_H
#define HF_LOCK_SCL_RWSCL_SLICE_H

#include "base/atomic.h"
#include "base/clock.h"
#include "holdfast/rwscl.h"

enum {
    HF_RWSCL_SLICE_US_DEFAULT = 2000,
    HF_RWSCL_IDLE_US = 50,
    HF_RWSCL_LOOKS = 16, // of the timekeeper of a long slice, or the idle times between them when it is over
};

// More than this is not made up for: a process that was stopped for minutes does not keep one kind out for as long.
#define HF_RWSCL_OVERRUN_US_MAX 1000000.0

struct hf_rwscl_weights {
    uint32_t readers, writers;
};

// hf_rwscl_t's weights: readers in the upper half, writers in the lower; 0: 1 to 1.
static inline struct hf_rwscl_weights hf_rwscl_weights_of(const hf_rwscl_t *lock) {
    uint32_t both = hf_load_relaxed(&lock->weights);
    return both ? (struct hf_rwscl_weights){both >> 16, both & 0xffff} : (struct hf_rwscl_weights){1, 1};
}

static inline uint64_t hf_rwscl_ticks_of_us(double us) {
    return hf_ticks_of_ns(us * 1000.0);
}

// The slice of a kind that has `weight`, beside the other's.
static inline uint64_t hf_rwscl_slice_ticks(const hf_rwscl_t *lock, uint32_t weight, uint32_t others_weight) {
    uint32_t option = hf_load_relaxed(&lock->slice); // microseconds plus one, or 0
    double us = option ? option - 1 : (uint32_t)HF_RWSCL_SLICE_US_DEFAULT;
    return hf_rwscl_ticks_of_us(weight > others_weight ? us * weight / others_weight : us);
}

// How much longer than its end the slice has lasted by now, for those who have waited for that since `waited_since`.
static inline uint64_t hf_rwscl_overrun(const hf_rwscl_t *lock, uint64_t waited_since, uint64_t now) {
    uint64_t end = hf_load_relaxed(&lock->slice_end);
    uint64_t from = end > waited_since ? end : waited_since;
    uint64_t ticks = now > from ? now - from : 0, most = hf_rwscl_ticks_of_us(HF_RWSCL_OVERRUN_US_MAX);
    return ticks < most ? ticks : most;
}

static inline uint64_t hf_rwscl_idle_ticks(void) {
    return hf_rwscl_ticks_of_us(HF_RWSCL_IDLE_US);
}

// Was `then` less than the idle time ago? Or as little ahead: clocks of two CPUs may differ.
static inline bool hf_rwscl_is_recent(uint64_t then, uint64_t now) {
    return hf_ticks_apart(now, then) < hf_rwscl_idle_ticks();
}

// A slice that began before the clock went back: what is left of it is not known, so nothing is. Sleeps until its end
// do not rest on that clock.
static inline bool hf_rwscl_slice_is_over(const hf_rwscl_t *lock, uint64_t now) {
    return now >= hf_load_relaxed(&lock->slice_end) || hf_clock_went_back(hf_load_relaxed(&lock->changed_at), now);
}

// Nanoseconds until so many ticks after the slice's end; 0: that is over.
static inline uint64_t hf_rwscl_left_ns(const hf_rwscl_t *lock, uint64_t later) {
    uint64_t now = hf_ticks(), end = hf_load_relaxed(&lock->slice_end) + later;
    return end > now ? (uint64_t)((double)(end - now) * hf_tick_ns_by_now()) : 0;
}

// How long the calling thread has run, and how often it has slept. A system call.
struct hf_rwscl_own_time {
    uint64_t ran_us;
    uint32_t sleeps;
};
struct hf_rwscl_own_time hf_rwscl_own_time_now(void) __attribute__((cold, visibility("hidden")));

// When the timekeeper of a slice looks next: at its end, and before, first after the idle time, then less often.
struct hf_rwscl_looks {
    uint64_t interval;
};

// Nanoseconds until the next look, which may be 0.
static inline uint64_t hf_rwscl_next_look_ns(struct hf_rwscl_looks *looks, const hf_rwscl_t *lock) {
    uint64_t now = hf_ticks(), idle = hf_rwscl_idle_ticks(), end = hf_load_relaxed(&lock->slice_end);
    uint64_t left = end > now ? end - now : 0;
    uint64_t interval_max = left ? left / HF_RWSCL_LOOKS : HF_RWSCL_LOOKS * idle;
    if (looks->interval < idle)
        looks->interval = idle;
    else if (looks->interval < interval_max)
        looks->interval *= 2;
    uint64_t ticks = left && left < looks->interval ? left : looks->interval;
    return (uint64_t)((double)ticks * hf_tick_ns_by_now());
}

#endif
