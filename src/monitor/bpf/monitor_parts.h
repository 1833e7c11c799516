// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the Preemption Monitor can do without, part by part: shared by the BPF program, in which a part that is left out
// is dead code, and its loader, which leaves out what a kernel refuses (monitor/loading.hpp). Without any of them it
// still counts, at the scheduler's switch, the critical sections that are preempted.
#ifndef HF_MONITOR_BPF_MONITOR_PARTS_H
#define HF_MONITOR_BPF_MONITOR_PARTS_H

// In the order of their worth.
enum hf_monitor_part {
    HF_PART_CORE = 1 << 0,         // counting at the switch, without which there is no monitor
    HF_PART_SWITCH_STATE = 1 << 1, // Linux 5.18: the tracepoint tells how a thread left
    HF_PART_HEART = 1 << 2,        // Linux 5.15: a timer in the kernel; the heart beats from user space otherwise
    HF_PART_COMPANY = 1 << 3,      // CONFIG_FAIR_GROUP_SCHED: any other thread that wants a CPU
    HF_PART_CENSUS = 1 << 4,       // a walk over all threads, hence audits and scopes
    HF_PART_ABSENCES = 1 << 5,     // which locks' holders were away
    HF_PART_STACKS = 1 << 6,       // and where in the program
    HF_PART_STORMS = 1 << 7,       // programs that switch all the time are left alone
    HF_PARTS_ALL = (1 << 8) - 1,
};

#endif
