// SPDX-License-Identifier: MIT OR Apache-2.0
// The number of CPUs follows what the process may use: it is looked at while affinities change.
//
// Shown able to fail: with what is known kept for good (FollowsWhatTheProcessMayUse); with the mask of a thread that
// asks last in place of the sum (PinnedThreadsAddUp); with nothing added within a second
// (APinnedFirstAskerDoesNotDecide); with a kernel that is asked all the same (StaysWhenItIsForgone).
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/thread_cpus.hpp"

namespace {

using holdfast::stay_on;
using holdfast::usable_cpus;

constexpr std::uint64_t ns_of_second = 1'000'000'000;

void ask_until(unsigned count) {
    while (hf_cpus_usable() != count)
        usleep(100);
}

void ask_for_seconds(std::uint64_t seconds) {
    for (std::uint64_t began_ns = hf_monotonic_ns(); hf_monotonic_ns() - began_ns < seconds * ns_of_second;) {
        hf_cpus_usable();
        usleep(100);
    }
}

class cpu_count : public testing::Test {
protected:
    std::vector<int> all_ = usable_cpus();

    void SetUp() override {
        if (all_.size() < 2)
            GTEST_SKIP() << "needs two CPUs";
        ask_until(static_cast<unsigned>(all_.size()));
    }
    ~cpu_count() override { stay_on(all_); }
};

TEST_F(cpu_count, FollowsWhatTheProcessMayUse) {
    ASSERT_TRUE(stay_on({all_[0]}));
    ask_until(1);
    ASSERT_TRUE(stay_on({all_[0], all_[1]}));
    ask_until(2);
    ASSERT_TRUE(stay_on(all_));
    ask_until(static_cast<unsigned>(all_.size()));
}

TEST_F(cpu_count, APinnedFirstAskerDoesNotDecide) {
    ASSERT_TRUE(stay_on({all_[0]}));
    ask_until(1);
    std::thread([&] {
        ASSERT_TRUE(stay_on({all_[0], all_[1]}));
        EXPECT_EQ(hf_cpus_usable(), 2u) << "at once";
    }).join();
}

TEST_F(cpu_count, PinnedThreadsAddUp) {
    std::atomic<bool> ends = false;
    std::thread other([&] {
        EXPECT_TRUE(stay_on({all_[1]}));
        while (!ends) {
            hf_cpus_usable();
            usleep(100);
        }
    });
    EXPECT_TRUE(stay_on({all_[0]}));
    ask_for_seconds(3); // none of what was before is left
    ask_until(2);
    ends = true;
    other.join();
    ask_until(1);
}

TEST_F(cpu_count, StaysWhenItIsForgone) {
    pid_t child = fork();
    if (child == 0) {
        hf_cpus_forgo();
        bool pinned = stay_on({all_[0]});
        ask_for_seconds(3);
        _exit(pinned && hf_cpus_usable() == all_.size() ? 0 : 1);
    }
    int status = -1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child && status == 0);
}

} // namespace
