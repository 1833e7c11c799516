// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual time: what a thread has run, weighted, by which each CPU's queue is ordered; and a bound on what that order
// may make a thread wait.
//
// Each CPU has a clock of its own, which follows where its turns begin. A thread keeps its distance to it, and takes
// the distance along to another CPU: a clock of all CPUs would run as quickly as that of the CPU with the least to do,
// and the threads of the others would all be late, whatever their weights. The clock follows to where a turn began when
// that turn is charged: nothing is done at its beginning, which would be a call a switch, and the clock is late by a
// turn. It is the clock of the queue that the thread stood in, also where another CPU has taken the thread from there.
//
// oversub.V6  The true virtual time is never replaced. What a thread has run is charged when the kernel gives it back,
//     or when it is woken: so before it may have a CPU again. (At each turn's end it would be one place, and one more
//     call a switch.)
// oversub.V8  A thread waits in a queue for a second, and then for those that have waited longer, a turn each. With
//     nice values far apart virtual time alone would make it wait for half a minute; the kernel throws a scheduler out
//     after five seconds.
//
// V8 holds since a CPU looks through its queue at each turn's end from the moment (`look_at`) when the thread that has
// waited longest can have waited for a second: none that waits now has waited for longer then. Such a turn is out of
// order: the clock does not follow it, and is not paid back later beyond what two turns cost.
#ifndef HF_OVERSUB_BPF_VIRTUAL_TIME_BPF_H
#define HF_OVERSUB_BPF_VIRTUAL_TIME_BPF_H

#include "oversub/bpf/scheduler_interface.bpf.h"
#include "oversub/bpf/task_context.bpf.h"
#include "oversub/bpf/virtual_waiters.bpf.h"

enum {
    SLICE_NS = 4 * 1000 * 1000,
    WEIGHT_OF_NICE_0 = 100,
    MOST_TURNS_OF_DEBT = 2,
};

// Set by the loader, which knows how long a jiffy is: a second.
const volatile uint32_t overdue_jiffies = 250;

struct cpu_clock {
    uint64_t now;     // virtual time
    uint64_t look_at; // jiffies
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MOST_CPUS);
    __type(key, uint32_t);
    __type(value, struct cpu_clock);
} clocks SEC(".maps");

static struct cpu_clock *clock_of(__s32 cpu) {
    uint32_t key = (uint32_t)cpu;
    return bpf_map_lookup_elem(&clocks, &key);
}

static uint64_t now_of(__s32 cpu) {
    struct cpu_clock *clock = clock_of(cpu);
    return clock ? clock->now : 0;
}

static uint64_t virtual_time(struct task_struct *task, uint64_t run_ns) {
    uint64_t weight = task->scx.weight;
    return run_ns * WEIGHT_OF_NICE_0 / (weight ? weight : 1);
}

static void begin_virtual_time(struct task_struct *task, struct task_context *context, __s32 cpu) {
    context->clock_cpu = cpu;
    context->vtime = now_of(cpu);
    context->charged_ns = task->se.sum_exec_runtime;
}

static uint64_t not_charged_ns(struct task_struct *task, struct task_context *context) {
    return task->se.sum_exec_runtime - context->charged_ns;
}

// After a turn; nothing is done where there was none since. CPUs may be here at once with threads from the same queue,
// and the clock does not go back.
static void charge(struct task_struct *task, struct task_context *context) {
    uint64_t run_ns = not_charged_ns(task, context), began = context->vtime;
    if (!run_ns)
        return;
    struct cpu_clock *clock = clock_of(context->clock_cpu);
    uint64_t now = clock ? clock->now : began;
    if (clock && is_before(now, began) && !context->is_overdue)
        __sync_val_compare_and_swap(&clock->now, now, began);
    context->is_overdue = false;
    context->vtime = began + virtual_time(task, run_ns);
    context->charged_ns += run_ns;
}

// Its virtual time by that CPU's clock. What it has not used while it slept is not saved up, nor is what it was given
// out of order a debt for ever.
static void come_to_clock(struct task_struct *task, struct task_context *context, __s32 cpu) {
    uint64_t now = now_of(cpu), vtime = context->vtime;
    if (context->clock_cpu != cpu)
        vtime += now - now_of(context->clock_cpu);
    context->clock_cpu = cpu;
    if (is_before(vtime, now - SLICE_NS)) {
        vtime = now - SLICE_NS;
    } else if (is_before(now, vtime)) {
        uint64_t last = now + virtual_time(task, MOST_TURNS_OF_DEBT * SLICE_NS);
        vtime = is_before(last, vtime) ? last : vtime;
    }
    context->vtime = vtime;
}

// Those of a queue that have waited longest; jiffies.
struct longest_waits {
    __s32 thread; // 0: none
    uint64_t since, next_since;
};

static void look_for_longest_waits(uint64_t queue, struct longest_waits *found) {
    struct bpf_iter_scx_dsq iterator;
    struct task_struct *task;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    while ((task = bpf_iter_scx_dsq_next(&iterator))) {
        uint64_t since = task->scx.runnable_at;
        if (is_before(since, found->since)) {
            found->next_since = found->since;
            found->since = since;
            found->thread = task->pid;
        } else if (is_before(since, found->next_since)) {
            found->next_since = since;
        }
    }
    bpf_iter_scx_dsq_destroy(&iterator);
}

static bool give_turn(uint64_t queue, __s32 thread) {
    struct task_struct *task = bpf_task_from_pid(thread);
    if (!task)
        return false;
    struct task_context *context = context_of(task);
    struct bpf_iter_scx_dsq iterator;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    bool moved = scx_bpf_dsq_move(&iterator, task, SCX_DSQ_LOCAL, 0);
    bpf_iter_scx_dsq_destroy(&iterator);
    if (moved && context)
        context->is_overdue = true;
    bpf_task_release(task);
    return moved;
}

// By the CPU, when a turn has ended there. True: the next is a thread's that has waited for a second (V8).
static bool take_overdue(__s32 cpu, uint64_t now) {
    struct cpu_clock *clock = clock_of(cpu);
    if (!clock || !can_walk_queues() || is_before(now, clock->look_at))
        return false;
    struct longest_waits found = {.since = now, .next_since = now};
    look_for_longest_waits((uint64_t)cpu, &found);
    bool is_overdue = found.thread && !is_before(now, found.since + overdue_jiffies);
    clock->look_at = (is_overdue ? found.next_since : found.since) + overdue_jiffies;
    return is_overdue && give_turn((uint64_t)cpu, found.thread);
}

#endif
