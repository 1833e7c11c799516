// SPDX-License-Identifier: MIT OR Apache-2.0
// Shown able to fail: flags taken for the group.
#include "cli/experiment/program_run.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(name_of_metric, IsThePlainTextBeforeTheNumber) {
    EXPECT_EQ(name_of_metric("ops/s: ([0-9.]+)"), "ops/s");
    EXPECT_EQ(name_of_metric("^fillrandom : (\\d+) ops/s$"), "fillrandom");
    EXPECT_EQ(name_of_metric("(?s)getting records:.*?time: ([0-9.]+)"), "time");
    EXPECT_EQ(name_of_metric("([0-9.]+) ops/s"), "metric");
    EXPECT_EQ(name_of_metric("(?s"), "metric");
}

} // namespace
} // namespace holdfast::cli
