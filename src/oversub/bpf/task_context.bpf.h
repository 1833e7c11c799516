// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the scheduler keeps of a thread.
#ifndef HF_OVERSUB_BPF_TASK_CONTEXT_BPF_H
#define HF_OVERSUB_BPF_TASK_CONTEXT_BPF_H

#include "monitor/bpf/wait_evidence.bpf.h"

struct task_context {
    uint64_t vtime;
    uint64_t charged_ns; // of its run time
    uint32_t waiter;     // its number, once it has one
    bool is_ours;
    bool yielded;
    bool spins;    // seen to: it goes behind the others once
    bool made_way; // it has gone there, and not run since
    // Busy-waiting detection: on the clock of the thread's own CPU time.
    struct wait_sample sample;
    uint64_t own_ns, runs_since_ns; // its CPU time when it began to run, and when that was
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct task_context);
} contexts SEC(".maps");

static struct task_context *context_of(struct task_struct *task) {
    return bpf_task_storage_get(&contexts, task, NULL, 0);
}

#endif
