// SPDX-License-Identifier: MIT OR Apache-2.0
// How the kernel is entered on AArch64. Included by base/system_call.h.
#ifndef HF_ARCHITECTURE_KERNEL_ENTRY_H
#define HF_ARCHITECTURE_KERNEL_ENTRY_H

// What the kernel calls its clock in the vDSO.
#define HF_VDSO_CLOCK "__kernel_clock_gettime"

// What libc's syscall() is passed in registers, behind the number: everything.
#define HF_SYSCALL_PARAMETERS long a, long b, long c, long d, long e, long f
#define HF_SYSCALL_ARGUMENTS a, b, c, d, e, f

static inline long hf_system_call(long number, long a, long b, long c, long d, long e, long f) {
    register long which __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;
    register long sixth __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory", "cc");
    return first;
}

#endif
