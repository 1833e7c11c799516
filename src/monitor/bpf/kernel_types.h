// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The few kernel types that the BPF program reads, with only the fields it reads. libbpf relocates each access to the
// running kernel's layout (CO-RE), so the build needs no kernel's BTF.
#ifndef HF_MONITOR_BPF_KERNEL_TYPES_H
#define HF_MONITOR_BPF_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

typedef __u8 uint8_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;

// From the kernel's user-space interface, <linux/bpf.h>.
enum bpf_map_type {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PROG_ARRAY = 3,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_QUEUE = 22,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29
};
enum { BPF_F_USER_STACK = 256 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
struct bpf_spin_lock {
    __u32 value;
};
struct bpf_timer {
    __u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_pidns_info {
    __u32 pid;
    __u32 tgid;
};

#include "machine.bpf.h" // struct thread_struct and struct pt_regs are the processor's

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq;

struct cfs_rq {
    struct rq *rq;
    unsigned int h_nr_runnable; // 6.14 and later: without tasks that sleep but are not dequeued yet
    unsigned int h_nr_queued;
};

struct rq {
    unsigned int nr_running;
    __u64 nr_switches;
    struct cfs_rq cfs;
};

struct sched_entity {
    struct cfs_rq *cfs_rq;
    __u64 sum_exec_runtime;
};

struct sched_ext_entity { // with CONFIG_SCHED_CLASS_EXT
    __u32 flags;
    __u32 weight;
    __u64 slice;
    __u64 dsq_vtime;
    unsigned long runnable_at; // jiffies: when it ran last, or woke
};

struct bpf_local_storage;

struct cpumask {
    unsigned long bits[1]; // as many as the kernel is built for
};

typedef struct {
    unsigned long sig[1];
} sigset_t;

struct sigpending {
    sigset_t signal;
};

struct sigaction {
    void *sa_handler;
};

struct k_sigaction {
    struct sigaction sa;
};

struct sighand_struct {
    struct k_sigaction action[64];
};

struct signal_struct {
    unsigned int flags;
    struct sigpending shared_pending;
};

struct mm_struct;

struct task_struct {
    unsigned int flags;
    unsigned int __state;         // 0: runnable; of the thread that leaves, at the switch
    struct signal_struct *signal; // its thread group's
    struct sighand_struct *sighand;
    unsigned int ptrace;
    int pid;
    int tgid;
    int nr_cpus_allowed;
    unsigned long jobctl;
    struct mm_struct *mm;
    sigset_t blocked;
    struct sigpending pending;
    __u64 start_boottime;
    struct task_struct *group_leader;
    struct bpf_local_storage *bpf_storage;
    struct sched_entity se;
    struct sched_ext_entity scx;
    struct cpumask cpus_mask;
    struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

// What a walk over all tasks is shown: one a call, none at the end.
struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

#pragma clang attribute pop

struct linux_binprm;

#endif
