// SPDX-License-Identifier: MIT OR Apache-2.0
// How the kernel is entered on x86-64. Included by base/system_call.h.
#ifndef HF_ARCHITECTURE_KERNEL_ENTRY_H
#define HF_ARCHITECTURE_KERNEL_ENTRY_H

// What the kernel calls its clock in the vDSO.
#define HF_VDSO_CLOCK "__vdso_clock_gettime"

// What libc's syscall() is passed in registers, behind the number. The last argument lies on the stack: there whoever
// jumps on to another such function finds and leaves it.
#define HF_SYSCALL_PARAMETERS long a, long b, long c, long d, long e
#define HF_SYSCALL_ARGUMENTS a, b, c, d, e

static inline long hf_system_call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
