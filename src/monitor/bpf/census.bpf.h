// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A walk over all threads, for a thread that wants to compare what is counted with what there is, or to know who may
// run where.
#ifndef HF_MONITOR_BPF_CENSUS_BPF_H
#define HF_MONITOR_BPF_CENSUS_BPF_H

#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/followed_threads.bpf.h"
#include "monitor/bpf/hint_page.bpf.h"
#include "monitor/bpf/monitor_parts.bpf.h"

// What a walk over all threads has found: marks by the scope that they are in, to be compared with the counts,
// processes that are followed, and what there is of each group.
uint64_t marks_found[HF_HINT_SCOPES];
uint64_t followed_found;
struct hf_group_found groups_found[HF_HINT_GROUPS];
static uint64_t cpus_of_one[HF_HINT_CPUS / 64]; // a walk is one at a time

static void note_mark(const struct mark *mark) {
    marks_found[HF_SCOPE_MACHINE]++;
    if (mark->scope != HF_SCOPE_MACHINE)
        ++*element(marks_found, mark->scope);
    if (mark->intruded_on != HF_SCOPE_MACHINE)
        ++*element(marks_found, mark->intruded_on);
}

static void note_cpus(struct task_struct *task, struct hf_group_found *group) {
    uint32_t bytes = bpf_core_type_size(struct cpumask);
    if (bytes > sizeof(cpus_of_one))
        bytes = sizeof(cpus_of_one);
    if (bpf_probe_read_kernel(cpus_of_one, bytes, &task->cpus_mask))
        return;
    for (int i = 0; i < HF_HINT_CPUS / 64; i++)
        *element(group->cpus, i) |= *element(cpus_of_one, i);
}

SEC("iter/task")
int walk(struct bpf_iter__task *at) {
    struct task_struct *task = at->task;
    if (!task || !has(HF_PART_CENSUS))
        return 0;
    const struct task_seen seen = see(task);
    struct mark *mark = bpf_task_storage_get(&marks, task, 0, 0);
    if (mark && mark->counted)
        note_mark(mark);
    struct hf_followed_process *process = process_of(&seen);
    struct hf_hint_page *page = hint_page();
    if (!process || !page)
        return 0;
    struct hf_group_found *group = element(groups_found, process->group);
    if (seen.leader == task) {
        group->processes++;
        followed_found++;
    }
    group->threads++;
    group->user = process->user;
    group->behind += mark && mark->counted && mark->scope != element(page->group, process->group)->counts_in;
    note_cpus(task, group);
    return 0;
}

#endif
