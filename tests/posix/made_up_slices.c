// SPDX-License-Identifier: MIT OR Apache-2.0
// made_up_slices PROGRAM [ARGUMENT...]: runs it on a kernel that says it extends time slices (Linux 7.0), and never
// does. A thread that gives a slice back gets SIGSYS, so that a test sees it (slice_request_test.cpp).
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RSEQ_SLICE_EXTENSION = 79, RSEQ_SLICE_YIELD = 471 };

int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RSEQ_SLICE_YIELD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)), // little-endian: its low half
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RSEQ_SLICE_EXTENSION, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        perror("made_up_slices");
        return 2;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 2;
}
