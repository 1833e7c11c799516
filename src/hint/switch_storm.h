// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// When a group's threads switch inside critical sections so often that the monitor leaves them alone for a while. Why:
// monitor/bpf/switch_storm.bpf.h, which decides by this, as the simulator does. The includer provides integer types and
// bool.
#ifndef HF_HINT_SWITCH_STORM_H
#define HF_HINT_SWITCH_STORM_H

#include "hint/hint_page.h"

// docs/monitor.md, "A storm of switches".
enum {
    HF_STORM_SAMPLED = 61, // one critical departure in so many of a CPU's is looked at; a prime: groups may alternate
    HF_STORM_PERIOD_NS = 20 * 1000, // a critical departure each so often on every CPU, for a beat, makes a storm
    HF_STORM_SAMPLES = HF_HEARTBEAT_NS / HF_STORM_PERIOD_NS / HF_STORM_SAMPLED, // of each CPU in a beat
    HF_STORM_NS = 1000 * 1000 * 1000,
};

// Of a group, since the heart's last beat, which is all the clock that this needs. Advice: two CPUs may spoil each
// other's.
struct hf_storm_watch {
    uint64_t beat_ns;
    uint64_t samples;
};

// A departure was looked at, and others were counted: do so many make a storm?
static inline bool hf_storm_begins(struct hf_storm_watch *watch, uint64_t heartbeat_ns, uint64_t samples) {
    if (watch->beat_ns != heartbeat_ns) {
        watch->beat_ns = heartbeat_ns;
        watch->samples = 0;
    }
    if (++watch->samples < samples)
        return false;
    watch->samples = 0;
    return true;
}

// Asked at a switch of one of the group's threads; the first one after its time ends a storm.
static inline bool hf_storm_goes_on(uint64_t *left_alone_until_ns, uint64_t heartbeat_ns) {
    if (*left_alone_until_ns == 0)
        return false;
    if (heartbeat_ns < *left_alone_until_ns)
        return true;
    *left_alone_until_ns = 0;
    return false;
}

#endif
