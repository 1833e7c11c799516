// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who wants a CPU: one notion for the Preemption Monitor, busy-waiting detection and the oversubscription scheduler.
//
// A thread wants the CPU on whose run queue it is, whether it runs or waits for its turn. Two kinds are on a run queue
// and want nothing: threads that sleep and that the kernel's own scheduler has not taken from there yet, and those that
// the oversubscription scheduler has blocked virtually, which are in none of its queues. sched_ext has no cfs_rq to
// read; how many are in a queue it tells whoever asks by the queue's number. No other scheduler has queues of these
// numbers.
#ifndef HF_MONITOR_BPF_WANTED_CPU_BPF_H
#define HF_MONITOR_BPF_WANTED_CPU_BPF_H

// The scheduler's queue of a CPU.
#define HF_QUEUE_OF(cpu) (0x48464f56ull << 24 | (uint32_t)(cpu))

enum { SCX_TASK_QUEUED = 1 << 0 }; // of scx.flags: it could run

extern __s32 scx_bpf_dsq_nr_queued(uint64_t queue) __ksym __weak;

// Threads that want the CPU of that queue, where one of them runs or is about to; with those that are blocked
// virtually.
static __always_inline uint32_t runnable_in(struct cfs_rq *queue_of_next) {
    struct rq *queue = queue_of_next->rq;
    uint32_t runnable = queue->nr_running;
    if (bpf_core_field_exists(queue->cfs.h_nr_runnable)) {
        uint32_t queued = queue->cfs.h_nr_queued;
        uint32_t awake = queue->cfs.h_nr_runnable;
        if (queued > awake && runnable > queued - awake)
            runnable -= queued - awake;
    }
    return runnable;
}

// How many threads wait in the oversubscription scheduler's queue of this CPU; below 0 without that scheduler.
static __always_inline __s32 queued_here(void) {
    return scx_bpf_dsq_nr_queued ? scx_bpf_dsq_nr_queued(HF_QUEUE_OF(bpf_get_smp_processor_id())) : -1;
}

static __always_inline bool has_sched_ext(struct rq *queue) {
    return bpf_core_field_exists(queue->scx.local_dsq.nr) && queue->scx.nr_running > 0;
}

// Of this CPU's threads, those that runnable_in has too many: blocked virtually. `next` is given the CPU. (Threads that
// were woken a moment ago may be among them: a CPU takes eight at each switch.)
static __always_inline uint32_t blocked_here(struct task_struct *next, struct cfs_rq *queue_of_next) {
    struct rq *queue = queue_of_next->rq;
    __s32 queued = has_sched_ext(queue) ? queued_here() : -1;
    if (queued < 0)
        return 0;
    uint32_t want = (uint32_t)queued + queue->scx.local_dsq.nr + (next->scx.flags & SCX_TASK_QUEUED);
    return queue->scx.nr_running > want ? queue->scx.nr_running - want : 0;
}

// Is a thread that has left the CPU, and could run, blocked virtually?
static __always_inline bool is_blocked_virtually(struct task_struct *task) {
    return bpf_core_field_exists(task->scx.dsq) && task->scx.flags & SCX_TASK_QUEUED && !task->scx.dsq &&
           queued_here() >= 0;
}

#endif
