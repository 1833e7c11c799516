// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/clock.h"

#include <string.h>

#include "base/system_call.h"
#include "base/vdso.h"

static int ask_kernel(clockid_t clock, struct timespec *now) {
    return (int)hf_sys_clock_gettime(clock, now);
}

// Threads that come here together find the same.
static int find_clock(clockid_t clock, struct timespec *now) {
    void *found = hf_vdso_function(HF_VDSO_CLOCK);
    int (*reader)(clockid_t, struct timespec *) = ask_kernel;
    if (found)
        *(void **)&reader = found;
    hf_store_relaxed(&hf_read_clock, reader);
    return reader(clock, now);
}

int (*hf_read_clock)(clockid_t clock, struct timespec *now) = find_clock;

#define HF_TICK_NS_ASSUMED 0.5

// A time that stood still would let waiters poll for ever for the end of a while. As the time of day it is long past:
// that a deadline has come is left to the kernel to say.
struct timespec hf_time_by_ticks(void) {
    uint64_t ns = (uint64_t)((double)hf_ticks() * HF_TICK_NS_ASSUMED);
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

// A sample is only as good as the two clocks were read together: keep the tightest of a few pairs.
static void read_both(uint64_t *ticks, uint64_t *ns) {
    uint64_t tightest = UINT64_MAX;
    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t before = hf_ticks();
        uint64_t now = hf_monotonic_ns();
        uint64_t after = hf_ticks();
        if (after - before < tightest) {
            tightest = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

static double calibrate(void) {
    uint64_t ticks_from = 0, ns_from = 0, ticks_to = 0, ns_to = 0;
    struct timespec wait = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
    read_both(&ticks_from, &ns_from);
    hf_sys_clock_nanosleep(CLOCK_MONOTONIC, 0, &wait);
    read_both(&ticks_to, &ns_to);
    return (double)(ns_to - ns_from) / (double)(ticks_to - ticks_from);
}

// Threads that come here together calibrate for themselves, and all say what the first one to end has found.
double hf_tick_ns(void) {
    static uint64_t calibrated; // a double's bits; 0: not yet
    double tick_ns;
    uint64_t bits = hf_load_relaxed(&calibrated);
    if (bits == 0) {
        tick_ns = calibrate();
        memcpy(&bits, &tick_ns, sizeof(bits));
        if (!hf_cas_relaxed(&calibrated, 0, bits))
            bits = hf_load_relaxed(&calibrated);
    }
    memcpy(&tick_ns, &bits, sizeof(bits));
    return tick_ns;
}

static uint64_t loaded_ticks, loaded_ns;
static double settled_tick_ns; // 0: not yet

__attribute__((constructor)) static void note_time_of_loading(void) {
    read_both(&loaded_ticks, &loaded_ns);
}

static double measure_by_now(void) {
    uint64_t ticks = 0, ns = 0;
    // A constructor that ran before ours.
    if (loaded_ns == 0)
        return HF_TICK_NS_ASSUMED;
    read_both(&ticks, &ns);
    if (ticks <= loaded_ticks || ns <= loaded_ns)
        return HF_TICK_NS_ASSUMED;
    double measured = (double)(ns - loaded_ns) / (double)(ticks - loaded_ticks);
    if (ns - loaded_ns >= 20u * 1000 * 1000)
        hf_store_relaxed_from(&settled_tick_ns, &measured); // by a thread that comes; all are as good
    return measured;
}

double hf_tick_ns_by_now(void) {
    double settled;
    hf_load_relaxed_into(&settled_tick_ns, &settled);
    return settled > 0 ? settled : measure_by_now();
}
