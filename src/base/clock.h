// SPDX-License-Identifier: MIT OR Apache-2.0
// Time: the processor's tick counter, calibrated at run time, and CLOCK_MONOTONIC.
#ifndef HF_BASE_CLOCK_H
#define HF_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"
#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernel's clocks as they are. libc's clock_gettime may be a preload's that tells another time than the one by
// which the kernel ends a sleep (faketime).
extern int (*hf_read_clock)(clockid_t clock, struct timespec *now) __attribute__((visibility("hidden")));

// Of a kernel that refuses to tell: it goes on, by ticks of which nobody knows how long they are.
struct timespec hf_time_by_ticks(void) __attribute__((cold, visibility("hidden")));

static inline struct timespec hf_time_on(clockid_t clock) {
    struct timespec now;
    return HF_LIKELY(hf_load_relaxed(&hf_read_clock)(clock, &now) == 0) ? now : hf_time_by_ticks();
}

static inline uint64_t hf_monotonic_ns(void) {
    struct timespec now = hf_time_on(CLOCK_MONOTONIC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// How long ago that was; 0 where it was read on another CPU, whose clock may be a little ahead.
static inline uint64_t hf_ns_since(uint64_t then_ns, uint64_t now_ns) {
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

// How long one tick lasts. The first call measures it against CLOCK_MONOTONIC and takes some 20 ms.
// Safe to call from several threads.
double hf_tick_ns(void);

// The same for code that must not wait: measured from when the library was loaded until now, so within a percent from
// some 20 microseconds later on. After 20 ms it does not change any more. Costs a load then.
double hf_tick_ns_by_now(void);

// The same the other way round.
static inline uint64_t hf_ticks_of_ns(double ns) {
    return (uint64_t)(ns / hf_tick_ns_by_now());
}

// Clocks of two CPUs differ by less.
#define HF_CLOCK_SKEW_NS 1e6

// Whether a time that was read before is from before the clock went back: a machine or a process goes on elsewhere,
// with a smaller one. The time may have been read on another CPU.
static inline bool hf_clock_went_back(uint64_t then, uint64_t now) {
    return HF_UNLIKELY(then > now) && then - now > hf_ticks_of_ns(HF_CLOCK_SKEW_NS);
}

static inline uint64_t hf_ticks_apart(uint64_t one, uint64_t other) {
    return one > other ? one - other : other - one;
}

#ifdef __cplusplus
}
#endif

#endif
