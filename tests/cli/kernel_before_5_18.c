// SPDX-License-Identifier: MIT OR Apache-2.0
// Preloaded into the command: the kernel refuses BPF programs that may sleep in a walk over threads, as those before
// Linux 5.18 do for want of a way to copy another process's memory. All other system calls are made as they are.
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>

static bool is_sleepable_walk(long number, const long *words) {
    const union bpf_attr *asked = (const union bpf_attr *)words[1];
    return number == SYS_bpf && words[0] == BPF_PROG_LOAD && asked->prog_type == BPF_PROG_TYPE_TRACING &&
           asked->expected_attach_type == BPF_TRACE_ITER && (asked->prog_flags & BPF_F_SLEEPABLE) != 0;
}

long syscall(long number, ...) {
    enum { WORDS = 6 };
    long words[WORDS];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < WORDS; i++)
        words[i] = va_arg(more, long);
    va_end(more);
    if (is_sleepable_walk(number, words)) {
        errno = EINVAL;
        return -1;
    }
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
