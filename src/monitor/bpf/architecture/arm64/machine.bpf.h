// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the BPF programs ask of the processor, on arm64. One of several files of this name: the build chooses
// (cmake/architecture.cmake).
#ifndef HF_MONITOR_MACHINE_BPF_H
#define HF_MONITOR_MACHINE_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
    struct {
        unsigned long tp_value;
    } uw;
};

// What a system call was called with. The first argument's register takes the result, too.
struct pt_regs {
    uint64_t regs[31];
    uint64_t sp, pc, pstate;
    uint64_t orig_x0;
    int syscallno;
};

#pragma clang attribute pop

// The register TPIDR_EL0, which user space writes itself, as the kernel saved it when the thread last left the CPU, or
// was made: at a switch out it is not saved again yet. It does not change in a thread's life. Only a program's first
// thread sets it after it was made: that one's first switch out shows another program's, or none, and is not counted.
#define THREAD_POINTER_OF(task) ((task)->thread.uw.tp_value)

enum { NR_FUTEX = 98 };

#define SYSTEM_CALL_OF(registers) ((uint64_t)(int64_t)BPF_CORE_READ(registers, syscallno))
#define FIRST_ARGUMENT_OF(registers) BPF_CORE_READ(registers, orig_x0)
#define SECOND_ARGUMENT_OF(registers) BPF_CORE_READ(registers, regs[1])
#define THIRD_ARGUMENT_OF(registers) BPF_CORE_READ(registers, regs[2])

// Where a thread was called from, by DWARF's numbers of registers: those that a callee saves, and the next instruction
// behind them all.
enum { STACK_REGISTERS_KNOWN = 0xfff80000, INSTRUCTION_REGISTER = 32, STACK_REGISTER = 31 };

#define READ_STACK_REGISTERS(to, registers)                                                                            \
    do {                                                                                                               \
        (to)[19] = BPF_CORE_READ(registers, regs[19]);                                                                 \
        (to)[20] = BPF_CORE_READ(registers, regs[20]);                                                                 \
        (to)[21] = BPF_CORE_READ(registers, regs[21]);                                                                 \
        (to)[22] = BPF_CORE_READ(registers, regs[22]);                                                                 \
        (to)[23] = BPF_CORE_READ(registers, regs[23]);                                                                 \
        (to)[24] = BPF_CORE_READ(registers, regs[24]);                                                                 \
        (to)[25] = BPF_CORE_READ(registers, regs[25]);                                                                 \
        (to)[26] = BPF_CORE_READ(registers, regs[26]);                                                                 \
        (to)[27] = BPF_CORE_READ(registers, regs[27]);                                                                 \
        (to)[28] = BPF_CORE_READ(registers, regs[28]);                                                                 \
        (to)[29] = BPF_CORE_READ(registers, regs[29]);                                                                 \
        (to)[30] = BPF_CORE_READ(registers, regs[30]);                                                                 \
        (to)[STACK_REGISTER] = BPF_CORE_READ(registers, sp);                                                           \
        (to)[INSTRUCTION_REGISTER] = BPF_CORE_READ(registers, pc);                                                     \
    } while (0)

// The same of registers that the verifier knows: registers->FIRST_ARGUMENT, of a call whose result is not there yet.
#define FIRST_ARGUMENT regs[0]
#define SECOND_ARGUMENT regs[1]
#define THIRD_ARGUMENT regs[2]
#define FOURTH_ARGUMENT regs[3]

// What a perf event's program is shown of the thread that it interrupts, as user space numbers its fields.
struct sampled_context {
    uint64_t regs[31];
    uint64_t sp, pc, pstate;
    uint64_t sample_period, addr;
};

// Of it, and of the registers that a thread has been interrupted with.
#define SAMPLED_ADDRESS(context) ((context)->pc)
#define SAMPLED_STACK(context) ((context)->sp)
#define IS_USER_CODE(context) (((context)->pstate & 0x1f) == 0) // exception level 0, 64 bits

#endif
