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
    unsigned long r15, r14, r13, r12, bp, bx;
    unsigned long r10;
    unsigned long dx;
    unsigned long si;
    unsigned long di;
    unsigned long orig_ax;
    unsigned long ip;
    unsigned short cs;
    unsigned long sp;
};

#pragma clang attribute pop

// An expression, so that the task's pointer is loaded where it is used. The task's memory map must be current.
#define THREAD_POINTER_OF(task) ((task)->thread.fsbase)

enum { NR_FUTEX = 202 };

#define SYSTEM_CALL_OF(registers) BPF_CORE_READ(registers, orig_ax)
#define FIRST_ARGUMENT_OF(registers) BPF_CORE_READ(registers, di)
#define SECOND_ARGUMENT_OF(registers) BPF_CORE_READ(registers, si)
#define THIRD_ARGUMENT_OF(registers) BPF_CORE_READ(registers, dx)

// Where a thread was called from, by DWARF's numbers of registers: those that a callee saves, and the next instruction.
enum { STACK_REGISTERS_KNOWN = 0x1f0c8, INSTRUCTION_REGISTER = 16, STACK_REGISTER = 7 };

#define READ_STACK_REGISTERS(to, registers)                                                                            \
    do {                                                                                                               \
        (to)[3] = BPF_CORE_READ(registers, bx);                                                                        \
        (to)[6] = BPF_CORE_READ(registers, bp);                                                                        \
        (to)[STACK_REGISTER] = BPF_CORE_READ(registers, sp);                                                           \
        (to)[12] = BPF_CORE_READ(registers, r12);                                                                      \
        (to)[13] = BPF_CORE_READ(registers, r13);                                                                      \
        (to)[14] = BPF_CORE_READ(registers, r14);                                                                      \
        (to)[15] = BPF_CORE_READ(registers, r15);                                                                      \
        (to)[INSTRUCTION_REGISTER] = BPF_CORE_READ(registers, ip);                                                     \
    } while (0)

// The same of registers that the verifier knows: registers->FIRST_ARGUMENT, of a call whose result is not there yet.
#define FIRST_ARGUMENT di
#define SECOND_ARGUMENT si
#define THIRD_ARGUMENT dx
#define FOURTH_ARGUMENT r10

// What a perf event's program is shown of the thread that it interrupts, as user space numbers its fields.
struct sampled_context {
    uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
    uint64_t ip, cs, flags, sp, ss;
    uint64_t sample_period, addr;
};
enum { USER_CS = 0x33 }; // of 64-bit code

// Of it, and of the registers that a thread has been interrupted with.
#define SAMPLED_ADDRESS(context) ((context)->ip)
#define SAMPLED_STACK(context) ((context)->sp)
#define IS_USER_CODE(context) ((context)->cs == USER_CS)

#endif
