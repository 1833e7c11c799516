// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that forbids itself sched_yield (preload/sandbox.c sees it coming) goes on, whichever way its waiters go.
// Shown able to fail: hf_wait_virtually_for, and hf_tell_scheduler_of_record, with a system call of its own.
#include <gtest/gtest.h>
#include <linux/futex.h>

#include "park/forbidden_calls.hpp"
#include "park/virtual_wait.h"
#include "park/yield.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

bool die_of_yields() {
    return forbid_calls({SYS_sched_yield}, SECCOMP_RET_KILL_PROCESS);
}

TEST(yield, IsForgone) {
    child_process child([] {
        hf_yield_forgo();
        if (!die_of_yields())
            return false;
        hf_yield();
        hf_may_wait_virtually = true;
        hf_tell_scheduler_of_record(8);
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
