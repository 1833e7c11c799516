// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the loader has done to the page, which only BPF can write: its beginning and its end, its heart, and changes.
#ifndef HF_MONITOR_BPF_LOADERS_ORDERS_BPF_H
#define HF_MONITOR_BPF_LOADERS_ORDERS_BPF_H

#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/hint_page.bpf.h"
#include "monitor/bpf/monitor_parts.bpf.h"

struct heart {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct heart);
} heart SEC(".maps");

struct correction {
    int64_t by;
    uint32_t scope;
    uint32_t repairs;
};

// Run by an audit that has found a count wrong, and by its test, which makes it so.
SEC("syscall")
int correct(struct correction *wanted) {
    struct hf_hint_page *page = hint_page();
    if (!page)
        return 1;
    add_to(page, wanted->scope, wanted->by);
    __sync_fetch_and_add(&page->repairs_total, wanted->repairs);
    return 0;
}

struct group_move {
    uint32_t group;
    uint32_t reads;
    uint32_t counts_in;
};

// `reads` first: a thread that goes back to the machine's scope may stop counting in another only when nobody reads
// that any more.
static void set_group(struct hf_hint_page *page, uint32_t number, uint32_t reads, uint32_t counts_in) {
    struct hf_hint_group *group = element(page->group, number);
    *(volatile uint32_t *)&group->reads = reads;
    *(volatile uint32_t *)&group->counts_in = counts_in;
}

// Run by the loader, which keeps scope.S1.
SEC("syscall")
int move_group(struct group_move *wanted) {
    struct hf_hint_page *page = hint_page();
    if (!page)
        return 1;
    set_group(page, wanted->group, wanted->reads, wanted->counts_in);
    return 0;
}

struct cpu_grant {
    uint32_t cpu;
    uint32_t scope;
};

SEC("syscall")
int grant_cpu(struct cpu_grant *wanted) {
    struct hf_hint_page *page = hint_page();
    if (!page || wanted->cpu >= HF_HINT_CPUS)
        return 1;
    element(page->cpu, wanted->cpu)->scope = wanted->scope;
    return 0;
}

static void clear_counts(struct hf_hint_page *page) {
    for (int i = 0; i < HF_HINT_SCOPES; i++)
        element(page->scope, i)->preempted_critical_sections = 0;
}

static void end_storms(struct hf_hint_page *page) {
    for (int i = 0; i < HF_HINT_GROUPS; i++)
        element(page->group, i)->left_alone_until_ns = 0;
}

// No monitor has written to it: it is all zeroes. Spares the kernel's verifier the loops below, which it follows turn
// by turn: 6 of the 37 ms that loading takes otherwise.
const volatile bool page_is_new = false;

// Run before anything is attached: there are no marks yet, and a thread that listens to this page already asks the
// machine's count. Totals start with the monitor, too.
SEC("syscall")
int reset(void *context) {
    struct hf_hint_page *page = hint_page();
    if (!page)
        return 1;
    if (page_is_new)
        return 0;
    for (int i = 0; i < HF_HINT_GROUPS; i++)
        set_group(page, i, HF_SCOPE_MACHINE, HF_SCOPE_MACHINE);
    end_storms(page);
    for (int i = 0; i < HF_HINT_CPUS; i++)
        element(page->cpu, i)->scope = HF_SCOPE_MACHINE;
    clear_counts(page);
    for (int i = 0; i < HF_HINT_SCOPES; i++)
        element(page->scope, i)->preemptions_total = element(page->scope, i)->sleeps_total = 0;
    page->uncounted_total = page->unreadable_total = page->unseen_switches_total = 0;
    page->repairs_total = page->switch_storms_total = 0;
    return 0;
}

static void beat(void) {
    struct hf_hint_page *page = hint_page();
    if (page)
        page->heartbeat_ns = bpf_ktime_get_ns();
}

static int beat_again(void *map, uint32_t *key, struct heart *value) {
    beat();
    bpf_timer_start(&value->timer, HF_HEARTBEAT_NS, 0);
    return 0;
}

// Run once by the loader. From then on the heart beats by itself, for as long as the program is loaded.
SEC("syscall")
int start_heart(void *context) {
    uint32_t zero = 0;
    struct heart *value = bpf_map_lookup_elem(&heart, &zero);
    if (!value || !has(HF_PART_HEART))
        return 1;
    return bpf_timer_init(&value->timer, &heart, 1 /* CLOCK_MONOTONIC */) ||
           bpf_timer_set_callback(&value->timer, beat_again) || bpf_timer_start(&value->timer, HF_HEARTBEAT_NS, 0);
}

// Run by the loader all the time where there is no such heart.
SEC("syscall")
int beat_once(void *context) {
    beat();
    return 0;
}

// Run once by the loader, after the map is frozen: only BPF can write the page then.
SEC("syscall")
int start(void *context) {
    struct hf_hint_page *page = hint_page();
    if (!page)
        return 1;
    page->version = HF_HINT_VERSION;
    page->heartbeat_ns = bpf_ktime_get_ns();
    page->monitor_state = HF_MONITOR_ALIVE;
    return 0;
}

// Run by the loader on each CPU once the switch is detached: nobody keeps the page up to date from here on, and it says
// so. A raw tracepoint's program, since that is what the kernel runs on a CPU of the caller's choice.
SEC("raw_tp")
int retire(void *context) {
    struct hf_hint_page *page = hint_page();
    if (!page)
        return 1;
    page->monitor_state = HF_MONITOR_RETIRED;
    clear_counts(page);
    end_storms(page);
    return 0;
}

#endif
