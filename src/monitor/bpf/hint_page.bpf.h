// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The page that the monitor writes and locks read.
#ifndef HF_MONITOR_BPF_HINT_PAGE_BPF_H
#define HF_MONITOR_BPF_HINT_PAGE_BPF_H

#include "hint/hint_page.h"
#include "monitor/bpf/element.bpf.h"

// The page: one element, frozen by the loader.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct hf_hint_page);
} hint SEC(".maps");

static struct hf_hint_page *hint_page(void) {
    uint32_t zero = 0;
    return bpf_map_lookup_elem(&hint, &zero);
}

static void add_to(struct hf_hint_page *page, uint32_t scope, int64_t by) {
    __sync_fetch_and_add(&element(page->scope, scope)->preempted_critical_sections, by);
}

#endif
