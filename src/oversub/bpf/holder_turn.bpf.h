// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Lock holders go on. A thread that has the CPU taken away inside a critical section makes everybody who waits for that
// lock wait for its next turn, too. So its turn goes on for a little, and ends as soon as it is seen outside:
//
//            slice ends, others want the CPU, it holds a lock        seen without one, or STEPS_MOST later
//     TURN ---------------------------------------------------> MORE -----------------------------------> others' turn
//
// One that holds a lock even then goes first in its CPU's queue. Who holds one is known from the thread's record, which
// the Preemption Monitor reads as well: also of locks that were taken without a system call.
//
// oversub.H1  A turn is made longer once, by STEPS_MOST steps of STEP_NS at most, and the clock's lateness.
// oversub.H2  It is charged like all that a thread runs (V6), and one goes first only while it has had no more than a
//     slice more than others: so locks give nobody more CPU time than its weight does.
// oversub.H3  What a turn was given ends with it, also where the thread sleeps in it: the next may go on as well, and
//     the timer cuts none short that has not.
//
// The paper has nothing of the kind.
#ifndef HF_OVERSUB_BPF_HOLDER_TURN_BPF_H
#define HF_OVERSUB_BPF_HOLDER_TURN_BPF_H

#include "monitor/bpf/critical_words.bpf.h"
#include "oversub/bpf/scheduler_interface.bpf.h"
#include "oversub/bpf/task_context.bpf.h"
#include "oversub/bpf/virtual_waiters.bpf.h"

enum { STEP_NS = 10 * 1000, STEPS_MOST = 5 };

// Set by the loader.
const volatile bool favours_holders = true;

struct longer_turn {
    struct bpf_timer timer; // of one CPU, and used there alone
    uint32_t steps_left;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MOST_CPUS);
    __type(key, uint32_t);
    __type(value, struct longer_turn);
} longer_turns SEC(".maps");

static struct longer_turn *longer_turn_of(__s32 cpu) {
    uint32_t key = (uint32_t)cpu;
    return bpf_map_lookup_elem(&longer_turns, &key);
}

// The thread must be the current one. A record that a program before an execve(2) has told of is not this one's.
static bool holds_lock(struct task_struct *task, struct task_context *context) {
    struct hf_critical_words words = {};
    if (!context->record_offset || context->record_memory != memory_of(task, &context->memory))
        return false;
    const char *thread_pointer = (const char *)THREAD_POINTER_OF(task);
    return read_record(thread_pointer + context->record_offset, &words) == RECORD_IS_READ && words.critical_depth > 0;
}

static bool step(struct longer_turn *turn) {
    return turn->steps_left-- > 0 && bpf_timer_start(&turn->timer, STEP_NS, STAYS_ON_CPU) == 0;
}

static int turn_steps(void *map, uint32_t *cpu, struct longer_turn *turn) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct task_context *context = context_of(task);
    if (context && context->goes_on && !(holds_lock(task, context) && step(turn)))
        scx_bpf_kick_cpu((__s32)*cpu, SCX_KICK_PREEMPT);
    return 0;
}

// By the CPU, about the thread that has run there and still could. True: it goes on.
static bool makes_turn_longer(__s32 cpu, struct task_struct *task, struct task_context *context) {
    bool has_gone_on = context->goes_on;
    if (bpf_get_current_task_btf() != task || !holds_lock(task, context))
        return false;
    context->goes_first = has_gone_on; // H1
    struct longer_turn *turn = longer_turn_of(cpu);
    if (has_gone_on || !turn || !is_wanted_by_others(cpu))
        return false;
    turn->steps_left = STEPS_MOST;
    context->goes_on = step(turn);
    if (context->goes_on)
        set_slice(task, STEPS_MOST * STEP_NS);
    return context->goes_on;
}

static void end_turn(struct task_context *context) {
    context->goes_on = false;
    context->goes_first = false;
}

static long set_longer_turn(uint32_t cpu, void *unused) {
    struct longer_turn *turn = longer_turn_of((__s32)cpu);
    if (!turn || bpf_timer_init(&turn->timer, &longer_turns, OWN_CLOCK))
        return 1;
    bpf_timer_set_callback(&turn->timer, turn_steps);
    return 0;
}

#endif
