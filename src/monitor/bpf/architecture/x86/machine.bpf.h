// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the BPF programs ask of the processor, on x86-64. One of several files of this name: the build chooses
// (cmake/architecture.cmake).
#ifndef HF_MONITOR_MACHINE_BPF_H
#define HF_MONITOR_MACHINE_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
    unsigned long fsbase;
};

// What a system call was called with.
struct pt_regs {
    unsigned long dx;
    unsigned long si;
    unsigned long di;
    unsigned long orig_ax;
};

#pragma clang attribute pop

// An expression, so that the task's pointer is loaded where it is used. The task's memory map must be current.
#define THREAD_POINTER_OF(task) ((task)->thread.fsbase)

enum { NR_FUTEX = 202 };

#define SYSTEM_CALL_OF(registers) BPF_CORE_READ(registers, orig_ax)
#define FIRST_ARGUMENT_OF(registers) BPF_CORE_READ(registers, di)
#define SECOND_ARGUMENT_OF(registers) BPF_CORE_READ(registers, si)
#define THIRD_ARGUMENT_OF(registers) BPF_CORE_READ(registers, dx)

// The same of registers that the verifier knows: registers->FIRST_ARGUMENT, of a call whose result is not there yet.
#define FIRST_ARGUMENT di
#define SECOND_ARGUMENT si
#define THIRD_ARGUMENT dx

// What a perf event's program is shown of the thread that it interrupts, as user space numbers its fields.
struct sampled_context {
    uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
    uint64_t ip, cs, flags, sp, ss;
    uint64_t sample_period, addr;
};
enum { USER_CS = 0x33 }; // of 64-bit code

#define SAMPLED_ADDRESS(context) ((context)->ip)
#define SAMPLED_STACK(context) ((context)->sp)
#define IS_USER_CODE(context) ((context)->cs == USER_CS)

#endif
