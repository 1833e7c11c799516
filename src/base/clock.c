// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/clock.h"

#include <pthread.h>

static pthread_once_t calibrated = PTHREAD_ONCE_INIT;
static double tick_ns;

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

static void calibrate(void) {
    uint64_t ticks_from = 0, ns_from = 0, ticks_to = 0, ns_to = 0;
    struct timespec wait = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
    read_both(&ticks_from, &ns_from);
    nanosleep(&wait, NULL);
    read_both(&ticks_to, &ns_to);
    tick_ns = (double)(ns_to - ns_from) / (double)(ticks_to - ticks_from);
}

double hf_tick_ns(void) {
    pthread_once(&calibrated, calibrate);
    return tick_ns;
}
