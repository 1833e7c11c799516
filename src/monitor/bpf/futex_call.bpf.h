// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a thread's system call has to do with futexes, and which process the thread is of: for the programs that watch
// sleeps at the scheduler's switch.
#ifndef HF_MONITOR_BPF_FUTEX_CALL_BPF_H
#define HF_MONITOR_BPF_FUTEX_CALL_BPF_H

#include "monitor/bpf/kernel_types.h"

#include "monitor/bpf/futex_look.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// The pid namespace that the loader lives in, when it is not the first one: processes outside of it are not seen.
const volatile uint64_t namespace_device = 0;
const volatile uint64_t namespace_inode = 0;

// Does the tracepoint tell how a thread left? Linux 5.18.
const volatile bool is_told_state = true;

enum { TASK_INTERRUPTIBLE = 1 };

// A system call that has the same number everywhere, and the commands of futex(2).
enum { NR_FUTEX_WAKE = 454, NR_FUTEX_WAIT = 455 };
enum {
    WAIT = 0,
    WAKE = 1,
    REQUEUE = 3,
    CMP_REQUEUE = 4,
    WAKE_OP = 5,
    LOCK_PI = 6,
    UNLOCK_PI = 7,
    WAIT_BITSET = 9,
    WAKE_BITSET = 10,
    WAIT_REQUEUE_PI = 11,
    CMP_REQUEUE_PI = 12,
    LOCK_PI2 = 13,
    COMMAND_MASK = 0x7f
};

// Numbers of the current thread in the loader's namespace; 0 when it is not in it.
static void numbers_of_current(struct bpf_pidns_info *numbers) {
    if (namespace_inode == 0) {
        uint64_t both = bpf_get_current_pid_tgid();
        numbers->tgid = both >> 32;
        numbers->pid = (uint32_t)both;
    } else if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, numbers, sizeof(*numbers))) {
        numbers->tgid = numbers->pid = 0;
    }
}

// What a thread sleeps for.
struct futex_wait {
    uint64_t address;
    uint32_t look; // enum hf_futex_look
    bool for_lock;
};

// Is the thread asleep, and can it be woken by what it waits for?
static bool is_asleep(struct task_struct *task) {
    return bpf_core_field_exists(task->__state) && task->__state & TASK_INTERRUPTIBLE;
}

// Does a thread that is asleep, or about to be, sleep in a futex call?
static bool sleeps_in_futex(struct task_struct *task, struct futex_wait *wait) {
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    uint64_t number = SYSTEM_CALL_OF(registers);
    if (number != NR_FUTEX && number != NR_FUTEX_WAIT)
        return false;
    wait->address = FIRST_ARGUMENT_OF(registers);
    uint64_t second = SECOND_ARGUMENT_OF(registers);
    if (number == NR_FUTEX_WAIT) {
        wait->look = hf_futex_look_of(second);
        wait->for_lock = wait->look != 0;
        return true;
    }
    uint32_t command = second & COMMAND_MASK;
    uint32_t expected = THIRD_ARGUMENT_OF(registers);
    bool inherits = command == LOCK_PI || command == LOCK_PI2;
    bool waits = command == WAIT || command == WAIT_BITSET;
    wait->look = inherits ? HF_FUTEX_INHERITS : waits ? hf_futex_look_of(expected) : 0;
    wait->for_lock = wait->look != 0;
    if (command == WAIT_BITSET)
        wait->look |= HF_FUTEX_BY_BITSET;
    return inherits || waits || command == WAIT_REQUEUE_PI;
}

static uint32_t state_of(unsigned long long *context, struct task_struct *prev) {
    if (is_told_state)
        return context[3];
    return bpf_core_field_exists(prev->__state) ? prev->__state : 0;
}

#endif
