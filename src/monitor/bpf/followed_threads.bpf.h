// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom the monitor follows and what it keeps of them, in the kernel.
#ifndef HF_MONITOR_BPF_FOLLOWED_THREADS_BPF_H
#define HF_MONITOR_BPF_FOLLOWED_THREADS_BPF_H

#include "hint/hint_page.h"
#include "monitor/bpf/followed_process.h"
#include "monitor/bpf/holder_preemptions.bpf.h"

// On the thread group's leader: how to find a thread's record.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct hf_followed_process);
} followed SEC(".maps");

// On a thread: is it counted, and where?
struct mark {
    uint8_t counted;
    // Besides in the machine's: in its group's scope, and in that of the programs that otherwise have the CPU to
    // themselves on which it was switched out. HF_SCOPE_MACHINE where there is none, or the two are one.
    uint8_t scope;
    uint8_t intruded_on;
    uint8_t reserved;
    struct absence absence; // of a lock's holder
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct mark);
} marks SEC(".maps");

// Workers that the kernel makes in a process (for io_uring, say) have a copy of their maker's TLS base: its record is
// not theirs. A thread that is exiting holds nothing that it could give back (monitor.M2). The numbers are PF_EXITING,
// PF_IO_WORKER and PF_USER_WORKER.
enum { PF_KTHREAD = 0x200000, NO_RECORD_FLAGS = 0x4 | 0x10 | 0x4000 | PF_KTHREAD };

// What is loaded from this pointer may be compared and read, and not be handed to the kernel. For each load of a
// pointer from a task that may be handed on the verifier searches all its types by name, two to four times, for up to a
// third of a millisecond each (6.2 and later: two thirds of the time that it took). It costs nothing at run time.
extern void *bpf_rdonly_cast(const void *object, uint32_t type) __ksym __weak;

static struct task_struct *to_read(struct task_struct *task) {
    return bpf_rdonly_cast ? bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct)) : task;
}

// The pointers of a task that decide whether it is any of our business: loaded once, before anything branches, since
// the verifier searches on each path that leads to a load.
struct task_seen {
    struct task_struct *task;
    struct task_struct *plain, *leader; // to read: the task, and its thread group's leader
    bool may_have_mark;                 // it has BPF task storage
    bool leader_is_noticed;             // so has its leader: its process may be followed
};

static struct task_seen see(struct task_struct *task) {
    struct task_struct *plain = to_read(task), *leader = plain->group_leader;
    return (struct task_seen){.task = task,
                              .plain = plain,
                              .leader = leader,
                              .may_have_mark = plain->bpf_storage,
                              .leader_is_noticed = leader->bpf_storage};
}

static struct hf_followed_process *process_of(const struct task_seen *seen) {
    if (!seen->leader_is_noticed || seen->task->flags & NO_RECORD_FLAGS)
        return 0;
    return bpf_task_storage_get(&followed, seen->task->group_leader, 0, 0);
}

#endif
