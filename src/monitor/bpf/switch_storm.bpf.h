// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom the monitor leaves alone for a while: programs that switch all the time, and inside their critical sections.
//
//                  so many critical departures, each while others were counted
//     followed ----------------------------------------------------------------> left alone
//         ^                                                                           |
//         +------- the first switch of one of its threads after HF_STORM_NS ----------+
//
// Each thread of such a group is told at nearly each question that spinning does not pay. To find that out anew at
// every switch costs the group a tenth of its time and tells it nothing. So the page says it once, for a second, and
// the group's threads are neither looked at nor counted meanwhile: no other group waits for them either. A mark that is
// not made can't leak, and one from before goes at its thread's next switch, as any (monitor.M1).
//
// Nothing but time ends it: while its threads are not looked at, nobody knows how they would do. A monitor that goes
// away ends it, too, or its waiters find out that it has (hint/freshness.h).
#ifndef HF_MONITOR_BPF_SWITCH_STORM_BPF_H
#define HF_MONITOR_BPF_SWITCH_STORM_BPF_H

#include "hint/switch_storm.h"
#include "monitor/bpf/element.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, HF_HINT_GROUPS);
    __type(key, uint32_t);
    __type(value, struct hf_storm_watch);
} storm_watches SEC(".maps");

const volatile uint32_t cpus_online = 1;
// Samples of each CPU in a beat; fewer in tests on machines that can't switch so often.
const volatile uint32_t storm_samples = HF_STORM_SAMPLES;

// Was this CPU's critical departure one of those that are looked at?
static bool is_sampled(struct hf_hint_page *page) {
    uint32_t cpu = bpf_get_smp_processor_id();
    return cpu < HF_HINT_CPUS && ++element(page->cpu, cpu)->critical_departures % HF_STORM_SAMPLED == 0;
}

// A thread of this group was counted; `in_company`: others were already. Must be called on the thread's own CPU.
static void storm_departure(struct hf_hint_page *page, uint32_t group, bool in_company) {
    if (!is_sampled(page) || !in_company)
        return;
    uint32_t key = group % HF_HINT_GROUPS;
    struct hf_storm_watch *watch = bpf_map_lookup_elem(&storm_watches, &key);
    if (!watch || !hf_storm_begins(watch, page->heartbeat_ns, (uint64_t)cpus_online * storm_samples))
        return;
    uint64_t *until_ns = &element(page->group, group)->left_alone_until_ns;
    if (__sync_val_compare_and_swap(until_ns, 0, page->heartbeat_ns + HF_STORM_NS) == 0)
        __sync_fetch_and_add(&page->switch_storms_total, 1);
}

static bool storm_goes_on(struct hf_hint_page *page, uint32_t group) {
    return hf_storm_goes_on(&element(page->group, group)->left_alone_until_ns, page->heartbeat_ns);
}

#endif
