// SPDX-License-Identifier: MIT OR Apache-2.0
// Sentences at the end. Shown able to fail: each comparison turned round.
#include "cli/experiment/verdict.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(verdict, says_what_to_do) {
    EXPECT_EQ(verdict_on("flexguard", {}, 7), "");
    EXPECT_EQ(verdict_on("flexguard", {1.3, 1.31, 1.29, 1.3, 1.32, 1.3, 1.28}, 7),
              "flexguard: 1.30 times glibc (1.29 to 1.31 in 7 rounds): use it");
    EXPECT_EQ(verdict_on("mcs", {0.5, 0.5, 0.5}, 3), "mcs: 0.50 times glibc (0.50 to 0.50 in 3 rounds): glibc's is "
                                                     "better here");
    EXPECT_EQ(
        verdict_on("mcs", {0.9, 1.0, 1.3}, 3),
        "mcs: 1.00 times glibc (0.90 to 1.30 in 3 rounds): not distinguishable from 1: take more rounds (--rounds "
        "7)");
    EXPECT_EQ(verdict_on("mcs", {1, 1, 1.001, 1}, 4), "mcs: 1.00 times glibc (1.00 to 1.00 in 4 rounds): as good as "
                                                      "glibc's");
    EXPECT_EQ(verdict_on("mcs", {2}, 1),
              "mcs: 2.00 times glibc in 1 round: too few to tell: take more rounds (--rounds 7)");
}

} // namespace
} // namespace holdfast::cli
