// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the scheduler keeps of a thread.
#ifndef HF_OVERSUB_BPF_TASK_CONTEXT_BPF_H
#define HF_OVERSUB_BPF_TASK_CONTEXT_BPF_H

#include "monitor/bpf/wait_evidence.bpf.h"

struct task_context {
    bool is_ours;
    uint32_t waiter; // its number (virtual_waiters.bpf.h), once it has one
    // Virtual time (virtual_time.bpf.h):
    uint64_t vtime;      // by the clock of
    __s32 clock_cpu;     // this CPU
    bool is_overdue;     // its turn comes out of order
    uint64_t charged_ns; // of its run time
    // Of its place in the queue (take_place in oversub.bpf.c):
    bool yielded;
    bool spins;    // seen to: it goes behind the others once
    bool made_way; // it has gone there, and not run since
    // Of its turn (holder_turn.bpf.h):
    bool goes_on;    // longer than its slice, since it held a lock
    bool goes_first; // it held one even then
    // As it has told (park/park_call.h): where its record is, and in which memory.
    int64_t record_offset;
    uint64_t record_memory;
    uint64_t memory; // its own, at present
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

// A number that stands for the process's memory, kept in `place`: of the pointer itself the verifier would have nothing
// computed.
static __always_inline uint64_t memory_of(struct task_struct *task, volatile uint64_t *place) {
    *(struct mm_struct *volatile *)place = task->mm;
    return *place;
}

static struct task_context *context_of(struct task_struct *task) {
    return bpf_task_storage_get(&contexts, task, NULL, 0);
}

#endif
