// SPDX-License-Identifier: MIT OR Apache-2.0
// The instruction that calls the kernel, on x86-64. Included by base/system_call.h.
#ifndef HF_ARCHITECTURE_SYSTEM_CALL_INSTRUCTION_H
#define HF_ARCHITECTURE_SYSTEM_CALL_INSTRUCTION_H

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
