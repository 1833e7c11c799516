// SPDX-License-Identifier: MIT OR Apache-2.0
// System calls as instructions of our own. libc's functions of these names may be the program's (ISO C reserves none of
// them) or another preload's, which fakes an answer, locks a mutex or comes back here; some are cancellation points.
//
// hf_sys_NAME is the kernel's call NAME: its parameters, and its result, which is -errno where the call is refused.
// errno itself is never touched. What is asked of the kernel after the start is listed in docs/sandboxes.md.
#ifndef HF_BASE_SYSTEM_CALL_H
#define HF_BASE_SYSTEM_CALL_H

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "kernel_entry.h"

static inline long hf_sys_futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                                const uint32_t *second_word, uint32_t third_value) {
    return hf_system_call(SYS_futex, (long)word, operation, (long)value, (long)timeout, (long)second_word,
                          (long)third_value);
}

// FUTEX_REQUEUE and its like: a number in the place of the time.
static inline long hf_sys_futex_requeue(const uint32_t *word, int operation, int wakes, int moves,
                                        const uint32_t *second_word) {
    return hf_system_call(SYS_futex, (long)word, operation, wakes, moves, (long)second_word, 0);
}

// FUTEX_WAKE_OP, which changes the second word in one step and wakes nobody.
static inline long hf_sys_futex_change(const uint32_t *word, uint32_t *changed, uint32_t change) {
    return hf_system_call(SYS_futex, (long)word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, (long)changed, change);
}

// It takes no arguments, and has something in their registers here (park/park_call.h).
static inline long hf_sys_sched_yield(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth) {
    return hf_system_call(SYS_sched_yield, (long)first, (long)second, (long)third, (long)fourth, 0, 0);
}

static inline long hf_sys_membarrier(int command) {
    return hf_system_call(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

static inline long hf_sys_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time) {
    return hf_system_call(SYS_clock_nanosleep, clock, flags, (long)time, 0, 0, 0);
}

static inline long hf_sys_clock_gettime(clockid_t clock, struct timespec *time) {
    return hf_system_call(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
}

static inline long hf_sys_getpid(void) {
    return hf_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline long hf_sys_gettid(void) {
    return hf_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long hf_sys_tgkill(long process, long thread, int signal) {
    return hf_system_call(SYS_tgkill, process, thread, signal, 0, 0, 0);
}

static inline long hf_sys_getcpu(unsigned *cpu) {
    return hf_system_call(SYS_getcpu, (long)cpu, 0, 0, 0, 0, 0);
}

// How many bytes of the mask the kernel has written.
static inline long hf_sys_sched_getaffinity(long thread, size_t bytes, void *mask) {
    return hf_system_call(SYS_sched_getaffinity, thread, (long)bytes, (long)mask, 0, 0, 0);
}

// What the kernel calls struct sched_attr, in its first version; the C library's header may lack it.
struct hf_sched_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority; // of SCHED_FIFO and SCHED_RR
    uint64_t runtime;  // of SCHED_DEADLINE, as the next two
    uint64_t deadline;
    uint64_t period;
};
enum { HF_SCHED_DEADLINE = 6 };

static inline long hf_sys_sched_getattr(long thread, struct hf_sched_attributes *attributes) {
    return hf_system_call(SYS_sched_getattr, thread, (long)attributes, sizeof(*attributes), 0, 0, 0);
}

// The caller's limit.
static inline long hf_sys_getrlimit(int resource, struct rlimit *limit) {
    return hf_system_call(SYS_prlimit64, 0, resource, 0, (long)limit, 0, 0);
}

static inline long hf_sys_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    return hf_system_call(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);
}

// Of the caller's processor time and sleeps.
static inline long hf_sys_getrusage(int whose, struct rusage *usage) {
    return hf_system_call(SYS_getrusage, whose, (long)usage, 0, 0, 0, 0);
}

// Registers the caller's rseq area, or takes it back.
static inline long hf_sys_rseq(void *area, uint32_t bytes, int flags, uint32_t signature) {
    return hf_system_call(SYS_rseq, (long)area, (long)bytes, flags, (long)signature, 0, 0);
}

// Since Linux 7.0; the C library's header may lack the number, which is the same on all architectures.
enum { HF_SYS_RSEQ_SLICE_YIELD = 471 };

static inline long hf_sys_rseq_slice_yield(void) {
    return hf_system_call(HF_SYS_RSEQ_SLICE_YIELD, 0, 0, 0, 0, 0, 0);
}

// 20 minus the nice value: above 0, unless it is refused.
static inline long hf_sys_getpriority(int which, long who) {
    return hf_system_call(SYS_getpriority, which, who, 0, 0, 0, 0);
}

// A set of signals as the kernel has it: bit i - 1 for signal i.
static inline long hf_sys_rt_sigprocmask(int how, const uint64_t *set, uint64_t *before) {
    return hf_system_call(SYS_rt_sigprocmask, how, (long)set, (long)before, sizeof(*set), 0, 0);
}

// Memory.
static inline void *hf_sys_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    long result = hf_system_call(SYS_mmap, (long)at, (long)bytes, protection, flags, fd, (long)offset);
    return (void *)result; // NOLINT(performance-no-int-to-ptr)
}

// Why mmap was refused, or 0.
static inline int hf_mmap_error(const void *mapped) {
    return (long)mapped < 0 && (long)mapped >= -4095 ? (int)-(long)mapped : 0;
}

static inline long hf_sys_munmap(void *memory, size_t bytes) {
    return hf_system_call(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
}

static inline long hf_sys_madvise(void *memory, size_t bytes, int advice) {
    return hf_system_call(SYS_madvise, (long)memory, (long)bytes, advice, 0, 0, 0);
}

// Maps the pages of a shared mapping that begin at `memory` once more, and those behind them in the file.
static inline void *hf_sys_mremap_again(void *memory, size_t bytes) {
    long result = hf_system_call(SYS_mremap, (long)memory, 0, (long)bytes, MREMAP_MAYMOVE, 0, 0);
    return (void *)result; // NOLINT(performance-no-int-to-ptr)
}

static inline bool hf_sys_mremap_fixed(void *memory, size_t bytes, void *to) {
    return hf_system_call(SYS_mremap, (long)memory, (long)bytes, (long)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to,
                          0) == (long)to;
}

// Zeroed memory of the process's own. NULL: there is none.
static inline void *hf_map_memory(size_t bytes) {
    void *mapped = hf_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hf_mmap_error(mapped) ? NULL : mapped;
}

// The same in the place of what is mapped there.
static inline bool hf_map_memory_at(void *at, size_t bytes) {
    return !hf_mmap_error(
        hf_sys_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

// Files.
static inline int hf_sys_open(const char *path, int flags) {
    return (int)hf_system_call(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
}

static inline long hf_sys_read(int fd, void *bytes, size_t size) {
    return hf_system_call(SYS_read, fd, (long)bytes, (long)size, 0, 0, 0);
}

static inline long hf_sys_fstat(int fd, struct stat *status) {
    return hf_system_call(SYS_fstat, fd, (long)status, 0, 0, 0, 0);
}

static inline long hf_sys_fcntl(int fd, int command, long argument) {
    return hf_system_call(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

static inline long hf_sys_close(int fd) {
    return hf_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

// Sockets.
static inline int hf_sys_socket(int family, int type, int protocol) {
    return (int)hf_system_call(SYS_socket, family, type, protocol, 0, 0, 0);
}

static inline long hf_sys_connect(int fd, const void *address, socklen_t length) {
    return hf_system_call(SYS_connect, fd, (long)address, (long)length, 0, 0, 0);
}

static inline long hf_sys_setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    return hf_system_call(SYS_setsockopt, fd, level, option, (long)value, (long)length, 0);
}

static inline long hf_sys_getsockopt(int fd, int level, int option, void *value, socklen_t *length) {
    return hf_system_call(SYS_getsockopt, fd, level, option, (long)value, (long)length, 0);
}

static inline long hf_sys_sendmsg(int fd, const struct msghdr *message, int flags) {
    return hf_system_call(SYS_sendmsg, fd, (long)message, flags, 0, 0, 0);
}

static inline long hf_sys_recvmsg(int fd, struct msghdr *message, int flags) {
    return hf_system_call(SYS_recvmsg, fd, (long)message, flags, 0, 0, 0);
}

// Waits for so long; the kernel may change the time.
static inline long hf_sys_ppoll(struct pollfd *waited, unsigned count, struct timespec *patience) {
    return hf_system_call(SYS_ppoll, (long)waited, (long)count, (long)patience, 0, 0, 0);
}

#endif
