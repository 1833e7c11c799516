// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The Preemption Monitor (paper, section 3.1): at every context switch, was the thread that leaves the CPU inside a
// critical section, or next to enter one? It keeps the number of such threads on a page that the locks read.
//
//                    switched out, critical: mark, + 1
//     not counted ------------------------------------> counted (has a mark)
//          ^                                               |
//          +-----------------------------------------------+
//           switched in, or out without being critical: unmark, - 1
//
// monitor.M1  The count is the number of marks. A mark is set and cleared with the count, in the kernel, at the
//     thread's own switches; whatever happens to the registration, the process or its memory meanwhile changes neither.
//     There are several counts, for scopes (monitor/server/scopes.hpp): the machine's is the number of all marks,
//     another's that of the marks that remember it. So it does not matter to which scope a thread belongs when its mark
//     is cleared.
// monitor.M2  No thread ends with a mark: each leaves the CPU one last time, exiting, and an exiting thread is not
//     critical. This does not take having seen every switch. There are kernels that run no tracing program while some
//     protected process (a virtual machine's init) is current, so that nobody sees whom it gives the CPU to. Such a
//     thread is counted for longer than it should be, until it leaves the CPU again; no longer.
// So no count can leak. Tested by tests/monitor/count_test. A service that runs for months looks all the same (`walk`,
// census.bpf.h), and says how often it had to set a count right. The heart, which tells that the page is kept up to
// date, is in loaders_orders.bpf.h.
//
// The page and `followed` may be older than this program: pinned, and left by a monitor that has ended. Marks never
// are, so that the count starts at 0 with them.
//
// A process that is not followed pays for a few loads: tasks without any BPF task storage have a null pointer there.
//
// Kernels differ in what they have and in what their verifiers can follow. What the program can do without is a part of
// its own, has(...) (monitor/bpf/monitor_parts.h). Elements of arrays are reached in one way, element(...)
// (monitor/bpf/element.bpf.h). What differs between processors is in machine.bpf.h.
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "monitor/bpf/census.bpf.h"
#include "monitor/bpf/critical_words.bpf.h"
#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/followed_threads.bpf.h"
#include "monitor/bpf/hint_page.bpf.h"
#include "monitor/bpf/holder_preemptions.bpf.h"
#include "monitor/bpf/loaders_orders.bpf.h"
#include "monitor/bpf/monitor_parts.bpf.h"
#include "monitor/bpf/runnable.bpf.h"
#include "monitor/bpf/switch_storm.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// For tests: see no switch from a thread of a process that is not followed. The verifier drops it where it is false.
const volatile bool blind_to_others = false;

// A process that is ending, or writes its core, as SIGNAL_GROUP_EXIT and, before Linux 5.17, SIGNAL_GROUP_COREDUMP say:
// no thread of it comes back to its program. What it holds is never given back, however long the core takes, so nobody
// should wait for it. Such threads are not exiting yet (monitor.M2 does not need them to be): a mark that one has is
// taken away at its next switch, as that of any thread which is not critical.
enum { ENDING_FLAGS = 0x4 | 0x8 };

static bool is_ending(const struct task_seen *seen) {
    return seen->plain->signal->flags & ENDING_FLAGS;
}

static bool record_is_critical(const char *record_pointer_at, struct hf_critical_words *words) {
    enum record_seen seen = read_record(record_pointer_at, words);
    struct hf_hint_page *page = seen == RECORD_IS_UNREADABLE ? hint_page() : 0;
    if (page)
        __sync_fetch_and_add(&page->unreadable_total, 1);
    return seen == RECORD_IS_READ && hf_is_critical(words);
}

static bool is_critical(struct task_struct *task, const struct hf_followed_process *process,
                        struct hf_critical_words *words) {
    const char *thread_pointer = (const char *)THREAD_POINTER_OF(task);
    int64_t first = process->tls_offset[0], second = process->tls_offset[1];
    return (first && record_is_critical(thread_pointer + first, words)) ||
           (second && record_is_critical(thread_pointer + second, words));
}

static bool is_left_alone(const struct hf_followed_process *process) {
    struct hf_hint_page *page = hint_page();
    return has(HF_PART_STORMS) && page && storm_goes_on(page, process->group);
}

static void add_to_scopes_of(struct hf_hint_page *page, const struct mark *mark, int64_t by) {
    add_to(page, HF_SCOPE_MACHINE, by);
    if (mark->scope != HF_SCOPE_MACHINE)
        add_to(page, mark->scope, by);
    if (mark->intruded_on != HF_SCOPE_MACHINE)
        add_to(page, mark->intruded_on, by);
}

// A thread's CPUs may have been changed since the scopes were found: those whose CPU it takes hear of it at once.
static uint32_t scope_of_this_cpu(const struct hf_hint_page *page) {
    uint32_t cpu = bpf_get_smp_processor_id();
    return cpu < HF_HINT_CPUS ? element(page->cpu, cpu)->scope : HF_SCOPE_MACHINE;
}

static void count_departure(struct hf_hint_page *page, uint32_t scope, bool could_go_on) {
    struct hf_hint_scope *totals = element(page->scope, scope);
    if (could_go_on)
        __sync_fetch_and_add(&totals->preemptions_total, 1);
    else
        __sync_fetch_and_add(&totals->sleeps_total, 1);
}

// A thread that is critical leaves the CPU. Returns its mark; none when there is no memory for one,
// or when it had left before, and its coming back was hidden from us.
static struct mark *count_out(struct task_struct *task, const struct hf_followed_process *process, bool could_go_on) {
    struct hf_hint_page *page = hint_page();
    if (!page || !has(HF_PART_CORE))
        return 0;
    struct mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mark) {
        __sync_fetch_and_add(&page->uncounted_total, 1);
        return 0;
    }
    struct mark before = *mark;
    uint32_t scope = element(page->group, process->group)->counts_in;
    uint32_t of_cpu = scope_of_this_cpu(page);
    mark->counted = 1;
    mark->scope = scope;
    mark->intruded_on = of_cpu == scope ? HF_SCOPE_MACHINE : of_cpu;
    bool in_company = element(page->scope, scope)->preempted_critical_sections != 0;
    add_to_scopes_of(page, mark, 1);
    if (before.counted) { // it has run since, and that was hidden from us
        add_to_scopes_of(page, &before, -1);
        return 0;
    }
    count_departure(page, HF_SCOPE_MACHINE, could_go_on);
    if (scope != HF_SCOPE_MACHINE)
        count_departure(page, scope, could_go_on);
    if (has(HF_PART_STORMS))
        storm_departure(page, process->group, in_company);
    return mark;
}

// Was it counted?
static bool count_in(struct task_struct *task) {
    struct mark *mark = bpf_task_storage_get(&marks, task, 0, 0);
    if (!mark || !mark->counted)
        return false;
    mark->counted = 0;
    struct hf_hint_page *page = hint_page();
    if (page)
        add_to_scopes_of(page, mark, -1);
    if (has(HF_PART_ABSENCES))
        holder_returns(&mark->absence, task->pid);
    return true;
}

static void count_in_late(struct task_struct *task) {
    struct hf_hint_page *page = hint_page();
    if (count_in(task) && page)
        __sync_fetch_and_add(&page->unseen_switches_total, 1);
}

// A kernel's thread soon has done what it was woken for. So has the idle one.
static bool is_stranger_to(const struct task_seen *seen, const struct task_seen *other) {
    return seen->leader != other->leader && seen->task->pid != 0 && !(seen->task->flags & PF_KTHREAD);
}

static void note_company(struct cfs_rq *queue_of_next, bool taken_from_stranger) {
    struct hf_hint_page *page = hint_page();
    uint32_t cpu = bpf_get_smp_processor_id();
    if (!page || cpu >= HF_HINT_CPUS)
        return;
    struct hf_hint_cpu *this_cpu = element(page->cpu, cpu);
    this_cpu->runnable = runnable_in(queue_of_next);
    if (taken_from_stranger)
        this_cpu->shared_ns = bpf_ktime_get_ns();
}

// May this thread be counted? Not while nobody is (monitor.M1): what a thread adds to the machine's count when it is
// marked is there for a thread that switches it in. Spares most switches the look for a mark.
static bool may_be_counted(const struct task_seen *seen) {
    struct hf_hint_page *page = hint_page();
    return seen->may_have_mark && page && page->scope[HF_SCOPE_MACHINE].preempted_critical_sections != 0;
}

// Was it still runnable? Its state is 0 then, as the tracepoint passes it from Linux 5.18 on; it can't be woken before.
static bool is_runnable(unsigned long long *context, struct task_struct *leaves) {
    if (has(HF_PART_SWITCH_STATE))
        return (uint32_t)context[3] == 0;
    return bpf_core_field_exists(leaves->__state) && leaves->__state == 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    const struct task_seen leaves = see(prev), comes = see(next);
    struct cfs_rq *queue_of_next = bpf_core_field_exists(next->se.cfs_rq) ? comes.plain->se.cfs_rq : 0;
    if (blind_to_others && !leaves.leader_is_noticed)
        return 0;
    struct hf_followed_process *process = process_of(&leaves);
    struct hf_critical_words words = {};
    if (process && !is_left_alone(process) && !is_ending(&leaves) && is_critical(prev, process, &words)) {
        bool could_go_on = preempt || is_runnable(ctx, prev);
        struct mark *mark = count_out(prev, process, could_go_on);
        if (has(HF_PART_ABSENCES) && mark && words.critical_depth > 0)
            holder_leaves(ctx, &mark->absence, process->since_ns, words.lock, could_go_on);
    } else if (may_be_counted(&leaves)) {
        count_in_late(prev);
    }
    if (may_be_counted(&comes))
        count_in(next);
    if (comes.leader_is_noticed && has(HF_PART_COMPANY))
        note_company(queue_of_next, (preempt || is_runnable(ctx, prev)) && is_stranger_to(&leaves, &comes));
    return 0;
}

// A new process has a copy of its parent's memory, TLS layout included: it is followed as its parent is.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(at_fork, struct task_struct *parent, struct task_struct *child) {
    if (to_read(child)->group_leader != child)
        return 0;
    const struct task_seen maker = see(parent);
    struct hf_followed_process *process = process_of(&maker);
    if (!process)
        return 0;
    struct hf_followed_process copy = *process;
    copy.since_ns = bpf_ktime_get_ns();
    bpf_task_storage_get(&followed, child, &copy, BPF_LOCAL_STORAGE_GET_F_CREATE);
    return 0;
}

// A new program has another TLS layout, if it has any: it registers again if it wants to be followed.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(at_exec, struct task_struct *task) {
    bpf_task_storage_delete(&followed, task);
    return 0;
}
