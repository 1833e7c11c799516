// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The oversubscription scheduler (Huang et al., HPDC '21, virtual blocking), on sched_ext. A queue for each CPU,
// ordered by virtual time, weighted as the kernel's own scheduler does. A waiter that asks for it (park/park_call.h) is
// blocked virtually: it stays on its CPU's run queue for the kernel, and this scheduler keeps it to itself. A wake,
// which is the waker's FUTEX_WAKE as ever, hands it to its CPU again: no choice of a CPU, no migration, nothing taken
// from or put on a run queue.
//
// Where the paper puts such a thread at the queue's tail, this one puts it into no queue: the CPU looks at it in no
// round, and is idle when it has nobody else.
//
// oversub.V2  A blocked thread delays nobody: it is in no queue.
// oversub.V5  A wake never migrates. An idle CPU may take a woken thread later, as it takes any that waits.
// oversub.V7  A wake that finds virtual waiters reaches those that sleep by futex(2), too: it may wake more than it was
//     asked to, and none less. Every waiter looks at its word again.
// V1, V3, V4: virtual_waiters.bpf.h. V6, V8: virtual_time.bpf.h.
//
// What else ends a virtual wait: a signal (hook below), and its time (`look`), for whatever nobody tells us of: after
// a tenth of a second the waiter goes on to sleep by futex(2). So nothing is blocked for long here, and the kernel's
// watchdog finds none that has not run for seconds. When the scheduler is thrown out every waiter runs, finds its word
// as it was, and sleeps by futex(2) (V1).
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "oversub/bpf/holder_turn.bpf.h"
#include "oversub/bpf/scheduler_exit.h"
#include "oversub/bpf/scheduler_interface.bpf.h"
#include "oversub/bpf/spinner_watch.bpf.h"
#include "oversub/bpf/task_context.bpf.h"
#include "oversub/bpf/virtual_time.bpf.h"
#include "oversub/bpf/virtual_waiters.bpf.h"
#include "park/park_call.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
    LOOK_NS = 50 * 1000 * 1000,
    WATCHDOG_MS = 5000, // a thread that has not run for so long ends the scheduler
    BATCH = 8,          // woken threads that a CPU takes at once
};

// Set by the loader, which knows how long a jiffy is: what a virtual wait takes at most.
const volatile uint32_t most_jiffies = 25;

struct hf_scheduler_exit left;
struct hf_scheduler_totals totals;

static void count(uint64_t *total) {
    __sync_fetch_and_add(total, 1);
}

static uint32_t new_waiter(struct task_struct *task) {
    uint32_t number = 0;
    if (bpf_map_pop_elem(&free_waiters, &number) != 0)
        number = __sync_fetch_and_add(&waiters_used, 1);
    if (number >= WAITERS) {
        waiters_used = WAITERS;
        return 0;
    }
    struct waiter *waiter = waiter_at(number);
    waiter->state = WAITER_RUNNING;
    waiter->asleep_in = 0;
    waiter->held = 0;
    waiter->pid = task->pid;
    return number;
}

static void is_no_longer_asleep(struct waiter *waiter) {
    struct waiter_list *bucket = bucket_at(waiter->asleep_in - 1);
    if (waiter->asleep_in && bucket)
        __sync_fetch_and_sub(&bucket->asleep, 1);
    waiter->asleep_in = 0;
}

// A signal that is there already has nobody to interrupt, nor has a stop.
static bool is_wanted_elsewhere(struct task_struct *task) {
    unsigned long pending = task->pending.signal.sig[0] | task->signal->shared_pending.signal.sig[0];
    return (pending & ~task->blocked.sig[0]) || task->jobctl;
}

// As many waiters as there are CPUs can have one each, and sleep as ever, unless somebody else wants this CPU now.
static bool can_have_own_cpu(const struct waiter_list *bucket, struct task_struct *task, __s32 cpu) {
    return bucket->count + bucket->asleep + 1 < (uint32_t)task->nr_cpus_allowed && scx_bpf_dsq_nr_queued(cpu) == 0;
}

static void begin_wait(struct task_struct *task, uint32_t number, uint64_t word, uint64_t second) {
    struct waiter *waiter = waiter_at(number);
    uint64_t memory = memory_of(task, &waiter->memory);
    uint32_t where = bucket_of(memory, word), expected = (uint32_t)second;
    struct waiter_list *bucket = bucket_at(where);
    if (!bucket)
        return;
    is_no_longer_asleep(waiter);
    if (waiter->state != WAITER_RUNNING && !end_wait(number, WAITER_RUNNING))
        return; // it was woken before it had left its CPU, and is in that CPU's list still
    __s32 cpu = (__s32)bpf_get_smp_processor_id();
    if (can_have_own_cpu(bucket, task, cpu)) {
        waiter->asleep_in = where + 1;
        __sync_fetch_and_add(&bucket->asleep, 1);
        count(&totals.left_asleep);
        return;
    }
    waiter->word = word;
    waiter->kinds = second >> 32;
    waiter->since = bpf_jiffies64();
    waiter->cpu = cpu;
    bpf_spin_lock(&bucket->lock);
    bool joins = bucket->count < MOST_IN_BUCKET;
    if (joins) {
        waiter->bucket = where;
        append(bucket, number, WAITER_BLOCKED);
    }
    bpf_spin_unlock(&bucket->lock);
    if (!joins)
        return;
    uint32_t value = 0;
    __sync_fetch_and_add(&bucket->guard, 1); // V1
    __sync_fetch_and_add(&waiter->guard, 1); // pairs with the one in is_signalled
    if (bpf_probe_read_user(&value, sizeof(value), (void *)word) != 0 || value != expected || is_wanted_elsewhere(task))
        end_wait(number, WAITER_RUNNING);
    else
        count(&totals.blocked);
}

// A thread gives its CPU up. (The function of the system call: the loader finds its name.)
SEC("fentry/do_sched_yield")
int yields(void *arguments) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct task_context *context = bpf_task_storage_get(&contexts, task, NULL, 0);
    if (!context || !context->is_ours)
        return 0;
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (registers->THIRD_ARGUMENT != HF_PARK_MAGIC) {
        context->yielded = true;
        return 0;
    }
    context->record_offset = (int64_t)registers->FOURTH_ARGUMENT;
    context->record_memory = memory_of(task, &context->memory);
    if (!registers->FIRST_ARGUMENT)
        return 0;
    if (!context->waiter)
        context->waiter = new_waiter(task);
    if (context->waiter)
        begin_wait(task, context->waiter, registers->FIRST_ARGUMENT, registers->SECOND_ARGUMENT);
    return 0;
}

struct wake {
    struct waiter_list *bucket;
    uint64_t memory, word, kinds;
};

static long wake_one(uint32_t i, struct wake *wake) {
    if (!wake->bucket || !wake_first(wake->bucket, wake->memory, wake->word, (uint32_t)wake->kinds))
        return 1;
    count(&totals.woken);
    return 0;
}

// Arguments: word, flags, (since 7.0 or so) something, how many, kinds.
SEC("fentry/futex_wake")
int wakes(void *arguments) {
    uint64_t word = 0, most = 0, kinds = 0, known = bpf_get_func_arg_cnt(arguments);
    if (bpf_get_func_arg(arguments, 0, &word) || bpf_get_func_arg(arguments, (uint32_t)known - 2, &most) ||
        bpf_get_func_arg(arguments, (uint32_t)known - 1, &kinds))
        return 0;
    uint64_t memory = (uint64_t)BPF_CORE_READ(bpf_get_current_task_btf(), mm); // a number: see memory_of
    struct waiter_list *bucket = bucket_at(bucket_of(memory, word));
    if (!bucket)
        return 0;
    __sync_fetch_and_add(&bucket->guard, 1); // V1
    if (!bucket->first)
        return 0;
    struct wake wake = {.bucket = bucket, .memory = memory, .word = word, .kinds = kinds};
    uint32_t count_most = (uint32_t)most < MOST_IN_BUCKET ? (uint32_t)most : MOST_IN_BUCKET;
    bpf_loop(count_most, wake_one, &wake, 0);
    return 0;
}

// Signals, stops, the end of the process, another thread's execve(2), a debugger: all come here.
SEC("fentry/signal_wake_up_state")
int BPF_PROG(is_signalled, struct task_struct *task) {
    struct task_context *context = bpf_task_storage_get(&contexts, task, NULL, 0);
    uint32_t number = context ? context->waiter : 0;
    if (!number)
        return 0;
    __sync_fetch_and_add(&waiter_at(number)->guard, 1);
    if (waiter_at(number)->state == WAITER_BLOCKED && end_wait(number, WAITER_WOKEN)) {
        hand_to_cpu(number);
        count(&totals.interrupted);
    }
    return 0;
}

struct look {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct look);
} looks SEC(".maps");

static long expire(uint32_t i, uint64_t *now) {
    struct waiter *waiter = waiter_at(i);
    if (waiter->state == WAITER_BLOCKED && (__s64)(*now - waiter->since) > (__s64)most_jiffies &&
        end_wait(i, WAITER_WOKEN)) {
        hand_to_cpu(i);
        count(&totals.expired);
    }
    return 0;
}

static int look(void *map, uint32_t *key, struct look *look) {
    uint64_t now = bpf_jiffies64();
    bpf_loop(waiters_used < WAITERS ? waiters_used : WAITERS, expire, &now, 0);
    bpf_timer_start(&look->timer, LOOK_NS, 0);
    return 0;
}

// A thread that yields goes behind those that have had as much; one that spins behind all; one that holds a lock before
// all, unless it has had too much (H2).
static uint64_t take_place(struct task_context *context, __s32 cpu) {
    uint64_t place = context->vtime, now = now_of(cpu);
    if (context->goes_first && is_before(place, now + SLICE_NS)) {
        place = now - SLICE_NS;
        count(&totals.first);
    }
    end_turn(context);
    if (context->yielded)
        place = (is_before(place, now) ? now : place) + SLICE_NS;
    if (detects_spinning && context->spins)
        place = place_behind(cpu, place, now + 3 * SLICE_NS);
    if (detects_spinning)
        note_place(cpu, place);
    context->made_way = context->spins;
    context->spins = false;
    context->yielded = false;
    return place;
}

// Whether the thread stays off the CPU until it is woken. dispatch below, which hands it to its CPU, and this
// function may come at once: one of them finds it held.
static bool is_held(struct waiter *waiter, __s32 cpu) {
    if (waiter->state != WAITER_BLOCKED)
        return false;
    waiter->cpu = cpu;
    __sync_lock_test_and_set(&waiter->held, 1);
    return *(volatile uint32_t *)&waiter->state == WAITER_BLOCKED || __sync_lock_test_and_set(&waiter->held, 0) == 0;
}

SEC("struct_ops/oversub_enqueue")
void BPF_PROG(oversub_enqueue, struct task_struct *task, uint64_t flags) {
    struct task_context *context = context_of(task);
    __s32 cpu = scx_bpf_task_cpu(task);
    if (!context) {
        insert(task, SCX_DSQ_LOCAL, SLICE_NS, flags);
        return;
    }
    charge(task, context);
    if (context->waiter && is_held(waiter_at(context->waiter), cpu))
        return;
    come_to_clock(task, context, cpu);
    uint64_t place = take_place(context, cpu);
    if (flags & SCX_ENQ_LAST) // nobody is there to go first
        insert(task, SCX_DSQ_LOCAL, SLICE_NS, flags);
    else
        insert_at(task, (uint64_t)cpu, SLICE_NS, place, flags);
}

// The kernel takes the thread back, to move it or to change what it is.
SEC("struct_ops/oversub_dequeue")
void BPF_PROG(oversub_dequeue, struct task_struct *task, uint64_t flags) {
    struct task_context *context = context_of(task);
    if (context && context->waiter)
        __sync_lock_test_and_set(&waiter_at(context->waiter)->held, 0);
}

// What take_woken does with one of them. False: it is none of those that this scheduler keeps (any more).
static __always_inline bool take(uint32_t number, __s32 cpu, bool is_own, bool at_once) {
    struct waiter *waiter = waiter_at(number);
    if (!waiter->pid) { // it is gone
        bpf_map_push_elem(&free_waiters, &number, 0);
        return false;
    }
    struct task_struct *task = bpf_task_from_pid(waiter->pid);
    if (!task)
        return false;
    struct task_context *context = context_of(task);
    bool is_kept = context && __sync_lock_test_and_set(&waiter->held, 0) == 1;
    if (is_kept) {
        __s32 its_cpu = scx_bpf_task_cpu(task);
        come_to_clock(task, context, its_cpu);
        end_turn(context);
        context->yielded = false;
        if (at_once && its_cpu == cpu)
            insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
        else
            insert_at(task, (uint64_t)its_cpu, SLICE_NS, context->vtime, 0);
        if (!is_own || its_cpu != cpu) // perhaps it alone may have the thread, and has looked before
            scx_bpf_kick_cpu(its_cpu, SCX_KICK_IDLE);
    }
    bpf_task_release(task);
    return is_kept;
}

struct taking {
    struct waiter_list *list;
    __s32 cpu;
    bool is_own, at_once, taken;
};

static long take_one(uint32_t i, struct taking *taking) {
    uint32_t number = taking->list ? next_woken(taking->list) : 0;
    if (!number)
        return 1;
    if (take(number, taking->cpu, taking->is_own, taking->at_once))
        taking->taken = true;
    return 0;
}

// Threads that were woken on that CPU go to its queue, by their virtual time; or, where nobody is in it, some to the
// CPU at once, in the order in which they were woken. True: some went there.
static bool take_woken(__s32 cpu, bool is_own) {
    struct waiter_list *list = woken_at(cpu);
    if (!list || !list->first)
        return false;
    bool at_once = is_own && scx_bpf_dsq_nr_queued((uint64_t)cpu) == 0;
    struct taking taking = {.list = list, .cpu = cpu, .is_own = is_own, .at_once = at_once};
    bpf_loop(BATCH, take_one, &taking, 0);
    return taking.taken && at_once;
}

static bool take_from(__s32 cpu, bool is_own) {
    return take_woken(cpu, is_own) || move_to_local((uint64_t)cpu);
}

// Another turn of the thread that has run, which is in no queue yet: it has had less than the first of the queue, also
// with half of that turn. (With all of it, or none, threads of one weight would not take turns of one slice.)
static bool has_next_turn(__s32 cpu, struct task_struct *previous, struct task_context *context) {
    uint64_t first = 0;
    if (!first_place((uint64_t)cpu, &first))
        return false;
    come_to_clock(previous, context, cpu); // it may be another CPU's that was taken over
    uint64_t half = not_charged_ns(previous, context) + SLICE_NS / 2;
    if (!is_before(context->vtime + virtual_time(previous, half), first))
        return false;
    charge(previous, context);
    end_turn(context);
    set_slice(previous, SLICE_NS);
    return true;
}

// The thread that has run was not blocked meanwhile, nor does it make way for others. A wake goes before a next turn.
static bool goes_on(__s32 cpu, struct task_struct *previous, bool others_are_woken) {
    struct task_context *context = context_of(previous);
    if (!context || !(previous->scx.flags & SCX_TASK_QUEUED) || context->yielded || context->spins)
        return false;
    if (context->waiter && waiter_at(context->waiter)->state == WAITER_BLOCKED)
        return false;
    if (!others_are_woken && has_next_turn(cpu, previous, context))
        return true;
    if (!favours_holders || !makes_turn_longer(cpu, previous, context))
        return false;
    count(&totals.longer);
    return true;
}

struct search {
    __s32 cpu;
    __s32 cpus;
};

static long take_from_next(uint32_t i, struct search *search) {
    __s32 other = search->cpu + 1 + (__s32)i;
    if (other >= search->cpus)
        other -= search->cpus;
    struct waiter_list *list = woken_at(other);
    if (!list || (!list->first && scx_bpf_dsq_nr_queued((uint64_t)other) <= 0))
        return 0;
    return take_from(other, false);
}

SEC("struct_ops/oversub_dispatch")
void BPF_PROG(oversub_dispatch, __s32 cpu, struct task_struct *previous) {
    struct waiter_list *list = woken_at(cpu);
    uint64_t now = bpf_jiffies64();
    if (list)
        list->dispatched = now;
    if (take_overdue(cpu, now))
        return;
    if (previous && goes_on(cpu, previous, list && list->first))
        return;
    if (take_from(cpu, true))
        return;
    struct search search = {.cpu = cpu, .cpus = (__s32)scx_bpf_nr_cpu_ids()};
    bpf_loop((uint32_t)search.cpus - 1, take_from_next, &search, 0);
}

SEC("struct_ops/oversub_tick")
void BPF_PROG(oversub_tick, struct task_struct *task) {
    struct waiter_list *list = woken_at(scx_bpf_task_cpu(task));
    if (list && list->first)
        set_slice(task, 0);
    struct task_context *context = context_of(task);
    if (detects_spinning && context)
        watch_thread(scx_bpf_task_cpu(task), context);
}

SEC("struct_ops/oversub_running")
void BPF_PROG(oversub_running, struct task_struct *task) {
    if (!detects_spinning)
        return;
    struct task_context *context = context_of(task);
    __s32 cpu = scx_bpf_task_cpu(task);
    if (!context)
        return;
    note_turn(cpu, task, context);
    watch_thread(cpu, context);
}

// A turn that the thread slept in is over (H3), and is charged (V6): the kernel hands a woken thread to an idle CPU
// without asking.
SEC("struct_ops/oversub_runnable")
void BPF_PROG(oversub_runnable, struct task_struct *task, uint64_t flags) {
    struct task_context *context = context_of(task);
    if (!context)
        return;
    charge(task, context);
    come_to_clock(task, context, scx_bpf_task_cpu(task));
    end_turn(context);
    if (context->waiter)
        is_no_longer_asleep(waiter_at(context->waiter));
}

SEC("struct_ops/oversub_enable")
void BPF_PROG(oversub_enable, struct task_struct *task) {
    struct task_context *context = bpf_task_storage_get(&contexts, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!context)
        return;
    begin_virtual_time(task, context, scx_bpf_task_cpu(task));
    context->is_ours = true;
}

static void give_up_wait(struct task_context *context) {
    if (context->waiter)
        end_wait(context->waiter, WAITER_RUNNING);
}

SEC("struct_ops/oversub_disable")
void BPF_PROG(oversub_disable, struct task_struct *task) {
    struct task_context *context = context_of(task);
    if (!context)
        return;
    context->is_ours = false;
    give_up_wait(context);
}

SEC("struct_ops/oversub_exit_task")
void BPF_PROG(oversub_exit_task, struct task_struct *task, struct scx_exit_task_args *arguments) {
    struct task_context *context = context_of(task);
    uint32_t number = context ? context->waiter : 0;
    if (!number)
        return;
    context->waiter = 0;
    struct waiter *waiter = waiter_at(number);
    end_wait(number, WAITER_RUNNING);
    is_no_longer_asleep(waiter);
    struct waiter_list *list = woken_at(waiter->cpu);
    if (!list)
        return;
    bpf_spin_lock(&list->lock);
    bool is_woken = waiter->state == WAITER_WOKEN;
    if (is_woken)
        waiter->pid = 0; // the thread that takes it from the list gives the number back
    bpf_spin_unlock(&list->lock);
    if (!is_woken)
        bpf_map_push_elem(&free_waiters, &number, 0);
}

static long create_queue(uint32_t cpu, __s32 *error) {
    *error = scx_bpf_create_dsq(cpu, -1);
    return *error != 0;
}

// Sleeps: the loader says so, since libbpf before 1.2 has no name of a section for that. The verifier would walk
// through each round of an ordinary loop, and be the most of what a restart takes.
SEC("struct_ops/oversub_init")
__s32 BPF_PROG(oversub_init) {
    uint32_t cpus = scx_bpf_nr_cpu_ids(), key = 0;
    __s32 error = 0;
    if (cpus > MOST_CPUS)
        return -7; // E2BIG
    bpf_loop(cpus, create_queue, &error, 0);
    if (error)
        return error;
    if (favours_holders && bpf_loop(cpus, set_longer_turn, NULL, 0) < (long)cpus)
        return -12; // ENOMEM
    if (detects_spinning && bpf_loop(cpus, set_watch, NULL, 0) < (long)cpus)
        return -12;
    struct look *timed = bpf_map_lookup_elem(&looks, &key);
    if (!timed)
        return -3; // ESRCH
    bpf_timer_init(&timed->timer, &looks, OWN_CLOCK);
    bpf_timer_set_callback(&timed->timer, look);
    return (__s32)bpf_timer_start(&timed->timer, LOOK_NS, 0);
}

SEC("struct_ops/oversub_exit")
void BPF_PROG(oversub_exit, struct scx_exit_info *info) {
    left.code = (uint64_t)info->exit_code;
    bpf_probe_read_kernel_str(left.reason, sizeof(left.reason), info->reason);
    bpf_probe_read_kernel_str(left.message, sizeof(left.message), info->msg);
    *(volatile uint32_t *)&left.kind = (uint32_t)info->kind;
}

// Two tables, of which the loader takes one: for threads that ask (SCHED_EXT), and for all that are nobody else's.
#define TABLE(its_flags)                                                                                               \
    {                                                                                                                  \
        .enqueue = (void *)oversub_enqueue, .dequeue = (void *)oversub_dequeue, .dispatch = (void *)oversub_dispatch,  \
        .tick = (void *)oversub_tick, .runnable = (void *)oversub_runnable, .running = (void *)oversub_running,        \
        .enable = (void *)oversub_enable, .disable = (void *)oversub_disable, .exit_task = (void *)oversub_exit_task,  \
        .init = (void *)oversub_init, .exit = (void *)oversub_exit, .flags = SCX_OPS_ENQ_LAST | (its_flags),           \
        .timeout_ms = WATCHDOG_MS, .name = "holdfast_oversub",                                                         \
    }

SEC(".struct_ops") struct sched_ext_ops for_asking_threads = TABLE(SCX_OPS_SWITCH_PARTIAL);
SEC(".struct_ops") struct sched_ext_ops for_all_threads = TABLE(0);
