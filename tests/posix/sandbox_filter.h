// SPDX-License-Identifier: MIT OR Apache-2.0
// Seccomp filters for every_object.c and forgone_calls.c: lists of calls that are allowed. They hold docs/sandboxes.md
// to what it says.
#ifndef HF_TESTS_POSIX_SANDBOX_FILTER_H
#define HF_TESTS_POSIX_SANDBOX_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// What glibc asks for when a program that has begun uses threads and locks, allocates, prints and ends.
static const int of_glibc[] = {
    SYS_futex,  SYS_mmap,   SYS_munmap,      SYS_mprotect,     SYS_madvise,        SYS_brk,
    SYS_clone,  SYS_clone3, SYS_rseq,        SYS_exit,         SYS_exit_group,     SYS_set_robust_list,
    SYS_write,  SYS_fstat,  SYS_newfstatat,  SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_prlimit64,
    SYS_gettid, SYS_getpid, SYS_sched_yield, SYS_getrandom,
};

// And when it begins.
static const int of_start[] = {
    SYS_execve,          SYS_openat,     SYS_read,      SYS_pread64,   SYS_close,
    SYS_set_tid_address, SYS_readlinkat, SYS_faccessat, SYS_setitimer,
#ifdef SYS_arch_prctl
    SYS_arch_prctl,      SYS_access,     SYS_alarm,
#endif
};

// docs/sandboxes.md: "While it runs".
static const int of_holdfast[] = {SYS_clock_nanosleep, SYS_getrusage, SYS_getpriority, SYS_prctl, SYS_mremap};

// docs/sandboxes.md: "At the start".
static const int of_holdfasts_start[] = {
    SYS_membarrier, SYS_sched_getaffinity, SYS_socket, SYS_setsockopt,    SYS_getsockopt, SYS_connect, SYS_sendmsg,
    SYS_ppoll,      SYS_recvmsg,           SYS_fcntl,  SYS_sched_getattr,
};

enum { FILTER_MAX = 256 };

struct filter {
    struct sock_filter code[FILTER_MAX];
    unsigned short length;
};

static void add(struct filter *filter, struct sock_filter instruction) {
    filter->code[filter->length++] = instruction;
}

static void allow(struct filter *filter, const int *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1));
        add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
}

// Of futex what glibc's locks and condition variables do: no kinds of sleepers, no moving; and nobody learns who he is.
static void refuse_what_glibc_does_without(struct filter *filter) {
    static const unsigned refused_futex[] = {FUTEX_WAKE_BITSET, FUTEX_REQUEUE};
    static const unsigned refused[] = {SYS_gettid, SYS_getpid};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1));
        add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 6));
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (unsigned)FUTEX_CMD_MASK));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_futex[0], 2, 0));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_futex[1], 1, 0));
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

#define ALLOW(filter, calls) allow(filter, calls, sizeof(calls) / sizeof((calls)[0]))

static bool install(struct filter *filter, unsigned flags) {
    struct sock_fprog program = {.len = filter->length, .filter = filter->code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

static void load_number(struct filter *filter) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

// Of all threads of the process: one that kills for these calls alone.
static inline bool enter_sandbox_without(const int *calls, size_t count) {
    static struct filter filter;
    load_number(&filter);
    for (size_t i = 0; i < count; i++) {
        add(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1));
        add(&filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    add(&filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return install(&filter, SECCOMP_FILTER_FLAG_TSYNC);
}

// The calling thread's, and from then on of all that it starts.
static inline bool enter_sandbox(bool kills, bool executes) {
    static struct filter filter;
    load_number(&filter);
    if (!kills)
        refuse_what_glibc_does_without(&filter);
    ALLOW(&filter, of_glibc);
    if (executes)
        ALLOW(&filter, of_start);
    if (kills)
        ALLOW(&filter, of_holdfast);
    if (kills && executes)
        ALLOW(&filter, of_holdfasts_start);
    add(&filter,
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM));
    return install(&filter, 0);
}

#endif
