// SPDX-License-Identifier: MIT OR Apache-2.0
// Sentences at the end. Shown able to fail: each comparison turned round; nothing seen of others that run.
#include "cli/experiment/verdict.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace holdfast::cli {
namespace {

TEST(verdict, says_what_to_do) {
    EXPECT_EQ(verdict_on("flexguard", {}, 7), "");
    EXPECT_EQ(verdict_on("flexguard", {1.3, 1.31, 1.29, 1.3, 1.32, 1.3, 1.28}, 7),
              "flexguard: 1.30 times glibc (1.29 to 1.31 in 7 rounds): use it");
    EXPECT_EQ(verdict_on("mcs", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 6),
              "mcs: 0.50 times glibc (0.50 to 0.50 in 6 rounds): glibc's is better here");
    EXPECT_EQ(
        verdict_on("mcs", {0.9, 1.0, 1.3}, 3),
        "mcs: 1.00 times glibc (0.90 to 1.30 in 3 rounds): not distinguishable from 1: take more rounds (--rounds "
        "7)");
    EXPECT_EQ(verdict_on("mcs", {1, 1, 1.001, 1}, 4), "mcs: 1.00 times glibc (1.00 to 1.00 in 4 rounds): as good as "
                                                      "glibc's");
    EXPECT_EQ(verdict_on("mcs", {2}, 1),
              "mcs: 2.00 times glibc in 1 round: too few to tell: take more rounds (--rounds 7)");
}

// Three rounds are all above 1 in one of eight measurements of what makes no difference. Shown able to fail: without
// rounds_that_tell.
TEST(verdict, does_not_advise_by_few_rounds) {
    EXPECT_EQ(verdict_on("blocking", {2, 1.9, 2.1}, 3),
              "blocking: 2.00 times glibc (1.90 to 2.10 in 3 rounds): better in each, as by chance in one of 8 "
              "measurements: take more rounds (--rounds 7)");
    EXPECT_EQ(
        verdict_on("mcs", {0.5, 0.5, 0.5, 0.5, 0.5}, 5),
        "mcs: 0.50 times glibc (0.50 to 0.50 in 5 rounds): worse in each, as by chance in one of 32 measurements: "
        "take more rounds (--rounds 11)");
}

// At once: the load average would know of them a minute later, and for a minute after they have ended.
TEST(verdict, says_that_others_run) {
    std::atomic<bool> over = false;
    std::vector<std::thread> others;
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); i++)
        others.emplace_back([&over] {
            while (!over) {
            }
        });
    std::string busy = why_machine_is_busy();
    over = true;
    for (std::thread &each : others)
        each.join();
    EXPECT_TRUE(busy.starts_with("this machine is busy (load ")) << busy;
}

} // namespace
} // namespace holdfast::cli
