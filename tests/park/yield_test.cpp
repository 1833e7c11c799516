// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that forbids itself sched_yield (preload/sandbox.c sees it coming) goes on, whichever way its waiters go.
// Shown able to fail: hf_wait_virtually_for with a system call of its own.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "park/virtual_wait.h"
#include "park/yield.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

bool die_of_yields() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{.len = std::size(code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(yield, IsForgone) {
    child_process child([] {
        hf_yield_forgo();
        if (!die_of_yields())
            return false;
        hf_yield();
        uint32_t word = 1;
        return !hf_wait_virtually_for(&word, 1, FUTEX_BITSET_MATCH_ANY);
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(yield, KillsWhereItIsNotForgone) {
    child_process child([] {
        if (!die_of_yields())
            return true;
        hf_yield();
        return true;
    });
    EXPECT_FALSE(child.succeeds());
}

} // namespace
} // namespace holdfast::test
