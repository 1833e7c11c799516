// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is used of sched_ext: the table of operations, with those of its fields that are used (libbpf finds them by
// name), and the kernel's functions.
#ifndef HF_OVERSUB_BPF_SCHEDULER_INTERFACE_BPF_H
#define HF_OVERSUB_BPF_SCHEDULER_INTERFACE_BPF_H

struct scx_exit_info;
struct scx_init_task_args;
struct scx_exit_task_args;

struct sched_ext_ops {
    void (*enqueue)(struct task_struct *task, uint64_t flags);
    void (*dequeue)(struct task_struct *task, uint64_t flags);
    void (*dispatch)(__s32 cpu, struct task_struct *previous);
    void (*tick)(struct task_struct *task);
    void (*runnable)(struct task_struct *task, uint64_t flags);
    void (*running)(struct task_struct *task);
    void (*enable)(struct task_struct *task);
    void (*disable)(struct task_struct *task);
    void (*exit_task)(struct task_struct *task, struct scx_exit_task_args *arguments);
    __s32 (*init)(void);
    void (*exit)(struct scx_exit_info *info);
    uint64_t flags;
    uint32_t timeout_ms;
    char name[128];
};

enum scx_exit_kind { SCX_EXIT_NONE = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct scx_exit_info {
    enum scx_exit_kind kind;
    __s64 exit_code;
    const char *reason;
    char *msg;
};
#pragma clang attribute pop

enum {
    SCX_OPS_ENQ_LAST = 1 << 1,
    SCX_OPS_SWITCH_PARTIAL = 1 << 3,
    SCX_KICK_IDLE = 1 << 0,
    SCX_KICK_PREEMPT = 1 << 1,
};
enum { SCX_TASK_QUEUED = 1 << 0 }; // of scx.flags: it could run
#define SCX_ENQ_LAST (1ull << 41)
#define SCX_DSQ_LOCAL 0x8000000000000002ull

// Of a timer: CLOCK_MONOTONIC, and BPF_F_TIMER_CPU_PIN.
enum { OWN_CLOCK = 1, STAYS_ON_CPU = 1 << 1 };

// Virtual times are compared modulo 2^64, and so are other times.
static bool is_before(uint64_t one, uint64_t other) {
    return (__s64)(one - other) < 0;
}

extern __s32 scx_bpf_create_dsq(uint64_t queue, __s32 node) __ksym;
extern __s32 scx_bpf_dsq_nr_queued(uint64_t queue) __ksym;
extern void scx_bpf_kick_cpu(__s32 cpu, uint64_t flags) __ksym;
extern __s32 scx_bpf_task_cpu(const struct task_struct *task) __ksym;
extern uint32_t scx_bpf_nr_cpu_ids(void) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

// Functions that the kernel exchanges. The new ones came with Linux 6.19 and 7.1, and the old ones, and writes to a
// thread's slice, are to go "in 6.23" (7.3 by today's numbers, which has them still). Of each pair the one that the
// kernel has is called; where a new one has the old one's name, libbpf from 1.3 on tells them apart by their types, and
// takes what follows three underscores for no part of the name.
extern void scx_bpf_dsq_insert(struct task_struct *task, uint64_t queue, uint64_t slice, uint64_t flags) __ksym __weak;
extern bool scx_bpf_dsq_insert___tells(struct task_struct *task, uint64_t queue, uint64_t slice,
                                       uint64_t flags) __ksym __weak;

static void insert(struct task_struct *task, uint64_t queue, uint64_t slice, uint64_t flags) {
    if (scx_bpf_dsq_insert)
        scx_bpf_dsq_insert(task, queue, slice, flags);
    else
        scx_bpf_dsq_insert___tells(task, queue, slice, flags);
}

struct scx_bpf_dsq_insert_vtime_args {
    uint64_t dsq_id, slice, vtime, enq_flags;
};
extern bool __scx_bpf_dsq_insert_vtime(struct task_struct *task,
                                       struct scx_bpf_dsq_insert_vtime_args *arguments) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *task, uint64_t queue, uint64_t slice, uint64_t vtime,
                                     uint64_t flags) __ksym __weak;

static void insert_at(struct task_struct *task, uint64_t queue, uint64_t slice, uint64_t vtime, uint64_t flags) {
    struct scx_bpf_dsq_insert_vtime_args arguments = {queue, slice, vtime, flags};
    if (__scx_bpf_dsq_insert_vtime)
        __scx_bpf_dsq_insert_vtime(task, &arguments);
    else
        scx_bpf_dsq_insert_vtime(task, queue, slice, vtime, flags);
}

extern bool scx_bpf_dsq_move_to_local(uint64_t queue) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local___flags(uint64_t queue, uint64_t flags) __ksym __weak;

static bool move_to_local(uint64_t queue) {
    return scx_bpf_dsq_move_to_local ? scx_bpf_dsq_move_to_local(queue) : scx_bpf_dsq_move_to_local___flags(queue, 0);
}

// Since 6.12. The kernel's is as large, or smaller.
struct bpf_iter_scx_dsq {
    uint64_t opaque[6];
} __attribute__((aligned(8)));
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *iterator, uint64_t queue, uint64_t flags) __ksym __weak;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *iterator) __ksym __weak;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *iterator) __ksym __weak;

// Since 6.13.
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *iterator, struct task_struct *task, uint64_t queue,
                             uint64_t flags) __ksym __weak;

static bool can_walk_queues(void) {
    return bpf_iter_scx_dsq_new && bpf_iter_scx_dsq_next && bpf_iter_scx_dsq_destroy && scx_bpf_dsq_move;
}

// The first place of the queue. False: nobody is in it, or the kernel can't tell.
static bool first_place(uint64_t queue, uint64_t *place) {
    if (!can_walk_queues())
        return false;
    struct bpf_iter_scx_dsq iterator;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    struct task_struct *first = bpf_iter_scx_dsq_next(&iterator);
    bool is_there = first != NULL;
    if (first)
        *place = first->scx.dsq_vtime;
    bpf_iter_scx_dsq_destroy(&iterator);
    return is_there;
}

extern bool scx_bpf_task_set_slice(struct task_struct *task, uint64_t slice) __ksym __weak;

static void set_slice(struct task_struct *task, uint64_t slice) {
    if (scx_bpf_task_set_slice)
        scx_bpf_task_set_slice(task, slice);
    else
        task->scx.slice = slice;
}

#endif
