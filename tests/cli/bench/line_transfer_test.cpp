// SPDX-License-Identifier: MIT OR Apache-2.0
// Shown able to fail: without the look at the number of CPUs (a thread waits for one that never runs until time is
// over); with one thread that takes both parts (the caller loses its CPUs).
#include <gtest/gtest.h>
#include <thread>

#include "base/thread_cpus.hpp"
#include "cli/bench/line_transfer.hpp"

namespace {

using namespace holdfast::cli;

TEST(line_transfer, takes_some_time_between_two_cpus) {
    std::vector<int> cpus = holdfast::usable_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "there is one CPU";
    auto each_ns = line_transfer_ns();
    for (int i = 0; i < 100 && !each_ns; i++) // others may keep the CPUs busy
        each_ns = line_transfer_ns();
    ASSERT_TRUE(each_ns);
    EXPECT_GT(*each_ns, 1);
    EXPECT_LT(*each_ns, 1e6);
    EXPECT_EQ(holdfast::usable_cpus(), cpus) << "the caller has its CPUs still";
}

TEST(line_transfer, is_not_measured_on_one_cpu) {
    std::thread confined([] {
        ASSERT_TRUE(holdfast::stay_on({holdfast::usable_cpus().front()}));
        EXPECT_EQ(holdfast::usable_cpus().size(), 1u);
        EXPECT_EQ(line_transfer_ns(), std::nullopt);
    });
    confined.join();
}

} // namespace
