// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Busy-waiting detection in the scheduler (Huang et al., HPDC '21): a timer on each CPU that more threads want than one
// looks at the thread that it interrupts. One that is seen to spin (monitor/bpf/wait_evidence.bpf.h) loses the CPU, and
// goes behind all others of its CPU, until each of them has run once.
//
//            others want the CPU          a thread in a loop that waits, or resumed there
//     OFF ----------------------> SLOW -------------------------------------------------> FAST
//      ^  nobody else does         ^    no such loop, and no detection for a while         |
//      +---------------------------+------------------------------------------------------ +
//
// The paper's timer is always fast. A tick costs a virtual machine 12 us, so here it is slow where nobody spins, and
// off where nobody waits. A thread's sample before is its own, on the clock of its own CPU time: so one that resumes
// in its loop is found at the first tick of its turn.
//
// A CPU's watch is used on that CPU alone: by the scheduler with interrupts off, and by the timer's function, which no
// thread interrupts.
#ifndef HF_OVERSUB_BPF_SPINNER_WATCH_BPF_H
#define HF_OVERSUB_BPF_SPINNER_WATCH_BPF_H

#include "monitor/bpf/wait_evidence.bpf.h"
#include "oversub/bpf/scheduler_interface.bpf.h"
#include "oversub/bpf/task_context.bpf.h"
#include "oversub/bpf/virtual_waiters.bpf.h"

enum {
    FAST_FOR_NS = 20 * 1000 * 1000, // after a detection
};

// Set by the loader: it has been asked for, and there is a reader.
const volatile bool detects_spinning = false;

struct cpu_watch {
    struct bpf_timer timer;
    uint64_t tick_ns; // 0: off
    uint64_t fast_until_ns;
    uint64_t last_place; // in the CPU's queue: nobody there is behind it
    __s32 ran_before;    // the thread
    uint32_t reserved;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MOST_CPUS);
    __type(key, uint32_t);
    __type(value, struct cpu_watch);
} watches SEC(".maps");

static struct cpu_watch *watch_of(__s32 cpu) {
    uint32_t key = (uint32_t)cpu;
    return bpf_map_lookup_elem(&watches, &key);
}

static void tick_after(struct cpu_watch *watch, uint64_t tick_ns) {
    bool ticks = tick_ns != 0 && bpf_timer_start(&watch->timer, tick_ns, STAYS_ON_CPU) == 0;
    watch->tick_ns = ticks ? tick_ns : 0;
}

static bool was_in_wait_loop(const struct task_context *context) {
    return context->sample.thread && context->sample.waits;
}

// By the CPU, about the thread that runs there, which has been chosen or was interrupted by the scheduler's own tick.
static void watch_thread(__s32 cpu, const struct task_context *context) {
    struct cpu_watch *watch = watch_of(cpu);
    uint64_t tick_ns = was_in_wait_loop(context) ? HF_FAST_TICK_NS : HF_SLOW_TICK_NS;
    if (watch && (watch->tick_ns == 0 || watch->tick_ns > tick_ns) && is_wanted_by_others(cpu))
        tick_after(watch, tick_ns);
}

static void note_turn(__s32 cpu, struct task_struct *task, struct task_context *context) {
    struct cpu_watch *watch = watch_of(cpu);
    if (!watch)
        return;
    if (context->made_way && watch->ran_before == task->pid)
        count_sample(HF_SPIN_IN_VAIN);
    context->made_way = false;
    watch->ran_before = task->pid;
    context->own_ns = task->se.sum_exec_runtime;
    context->runs_since_ns = bpf_ktime_get_ns();
}

// True: it is in a loop that waits.
static bool sample_thread(struct cpu_watch *watch, __s32 cpu, struct task_struct *task, struct task_context *context,
                          uint64_t own_ns, uint64_t now_ns) {
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (!IS_USER_CODE(registers) || !is_new_sample(&context->sample, own_ns))
        return was_in_wait_loop(context);
    struct wait_sample now = {.address = SAMPLED_ADDRESS(registers),
                              .stack = SAMPLED_STACK(registers),
                              .taken_ns = own_ns,
                              .thread = (uint32_t)task->pid};
    count_sample(HF_SPIN_CONTESTED);
    if (is_seen_spinning(&context->sample, &now, (uint32_t)task->tgid)) {
        count_sample(HF_SPIN_DETECTIONS);
        count_sample(HF_SPIN_YIELDS);
        context->spins = true;
        watch->fast_until_ns = now_ns + FAST_FOR_NS;
        scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
    }
    return now.waits;
}

static int watch_ticks(void *map, uint32_t *key, struct cpu_watch *watch) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct task_context *context = context_of(task);
    __s32 cpu = (__s32)*key;
    watch->tick_ns = 0;
    if (!context || !context->is_ours)
        return 0;
    count_sample(HF_SPIN_SAMPLES);
    uint64_t now_ns = bpf_ktime_get_ns(), own_ns = context->own_ns + (now_ns - context->runs_since_ns);
    if (!is_wanted_by_others(cpu)) {
        note_uncontested(&context->sample, own_ns);
        return 0;
    }
    bool waits = task->mm && sample_thread(watch, cpu, task, context, own_ns, now_ns);
    bool is_fast = waits || is_before(now_ns, watch->fast_until_ns);
    tick_after(watch, is_fast ? HF_FAST_TICK_NS : HF_SLOW_TICK_NS);
    return 0;
}

static long set_watch(uint32_t cpu, void *unused) {
    struct cpu_watch *watch = watch_of((__s32)cpu);
    if (!watch || bpf_timer_init(&watch->timer, &watches, OWN_CLOCK))
        return 1;
    bpf_timer_set_callback(&watch->timer, watch_ticks);
    return 0;
}

// Behind all others, as far as they are those of the next few slices: one that weighs little is not waited for.
static uint64_t place_behind(__s32 cpu, uint64_t place, uint64_t last) {
    struct cpu_watch *watch = watch_of(cpu);
    uint64_t behind = watch ? watch->last_place : place;
    if (is_before(last, behind))
        behind = last;
    return is_before(place, behind) ? behind : place;
}

static void note_place(__s32 cpu, uint64_t place) {
    struct cpu_watch *watch = watch_of(cpu);
    if (watch && is_before(watch->last_place, place))
        watch->last_place = place;
}

#endif
