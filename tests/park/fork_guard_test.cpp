// SPDX-License-Identifier: MIT OR Apache-2.0
// A guard of what a forked child puts in order: once, by whichever way the child was made, and nobody comes before.
//
// Shown able to fail: a repair at each call; a mark that is known from the start of the repair on (F1); one that the
// handler leaves as it is where the kernel zeroes nothing; a child of a child that is taken to be in order.
#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "park/forbidden_calls.hpp"
#include "park/fork_guard.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

std::atomic<int> repairs;
std::atomic<bool> is_slow, has_begun;

void repair() {
    has_begun = true;
    while (is_slow)
        std::this_thread::yield();
    repairs++;
}

hf_fork_guard guard = HF_FORK_GUARD(repair);
alignas(HF_FORK_PAGE_BYTES) char guarded[HF_FORK_PAGE_BYTES];

struct fork_guard : testing::Test {
    fork_guard() {
        hf_fork_guard_watch(&guard, guarded, sizeof(guarded));
        guarded[0] = 1;
    }
};

bool is_repaired_once() {
    hf_fork_guard_repair_if_forked(&guard);
    hf_fork_guard_repair_if_forked(&guard);
    return repairs == 1 && hf_fork_guard_is_in_order(&guard);
}

TEST_F(fork_guard, AsksForNothingInTheParent) {
    EXPECT_TRUE(hf_fork_guard_is_in_order(&guard));
    hf_fork_guard_repair_if_forked(&guard);
    EXPECT_EQ(repairs, 0);
    EXPECT_EQ(guarded[0], 1);
}

TEST_F(fork_guard, ThatNobodyWatchesIsInOrder) {
    static hf_fork_guard unwatched = HF_FORK_GUARD(repair);
    child_process child([] { return hf_fork_guard_is_in_order(&unwatched); }, _Fork);
    EXPECT_TRUE(child.succeeds());
}

TEST_F(fork_guard, IsRepairedOnceByAHandler) {
    child_process child([] { return repairs == 1 && is_repaired_once() && guarded[0] == !guard.is_zeroed; });
    EXPECT_TRUE(child.succeeds());
}

TEST_F(fork_guard, IsRepairedByTheFirstToComeWithoutHandlers) {
    if (!guard.is_zeroed)
        GTEST_SKIP() << "the kernel zeroes no memory in a child";
    child_process child(
        [] { return !hf_fork_guard_is_in_order(&guard) && repairs == 0 && guarded[0] == 0 && is_repaired_once(); },
        _Fork);
    EXPECT_TRUE(child.succeeds());
}

TEST_F(fork_guard, IsRepairedInAChildsChildAgain) {
    child_process child([] {
        repairs = 0;
        child_process grandchild(is_repaired_once);
        return grandchild.succeeds() && repairs == 0;
    });
    EXPECT_TRUE(child.succeeds());
}

TEST_F(fork_guard, KeepsOthersUntilItIsRepaired) {
    if (!guard.is_zeroed)
        GTEST_SKIP() << "the kernel zeroes no memory in a child";
    is_slow = true;
    child_process child(
        [] {
            std::thread first([] { hf_fork_guard_repair_if_forked(&guard); });
            while (!has_begun)
                std::this_thread::yield();
            std::atomic<bool> is_through = false;
            std::thread second([&] {
                hf_fork_guard_repair_if_forked(&guard);
                is_through = true;
            });
            usleep(20'000);
            bool was_kept = !is_through;
            is_slow = false;
            first.join();
            second.join();
            return was_kept && is_repaired_once();
        },
        _Fork);
    is_slow = false;
    EXPECT_TRUE(child.succeeds());
}

// All of that once more, in a program that is not allowed to have memory zeroed.
TEST_F(fork_guard, IsRepairedByAHandlerWhereTheKernelZeroesNothing) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer itself does not start without madvise";
#endif
    if (!guard.is_zeroed)
        GTEST_SKIP() << "that is so already";
    child_process child([] {
        constexpr const char *self = "/proc/self/exe";
        return forbid_calls({SYS_madvise}, SECCOMP_RET_ERRNO | EPERM) &&
               execl(self, self, "--gtest_filter=fork_guard.*", static_cast<char *>(nullptr)) == 0;
    });
    EXPECT_TRUE(child.succeeds());
}

} // namespace
} // namespace holdfast::test
