// SPDX-License-Identifier: MIT OR Apache-2.0
// How the kernel is entered on a processor that the code does not know: by libc. Included by base/system_call.h.
#ifndef HF_ARCHITECTURE_KERNEL_ENTRY_H
#define HF_ARCHITECTURE_KERNEL_ENTRY_H

#include <errno.h>
#include <unistd.h>

// What the kernel calls its clock in the vDSO.
#define HF_VDSO_CLOCK "__vdso_clock_gettime"

static inline long hf_system_call(long number, long a, long b, long c, long d, long e, long f) {
    int saved_errno = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved_errno;
    return result;
}

#endif
