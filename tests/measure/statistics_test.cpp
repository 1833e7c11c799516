// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/statistics.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace {

using namespace holdfast::cli;

// Shown able to fail: over n.
TEST(standard_deviation, is_over_n_less_one) {
    EXPECT_FALSE(standard_deviation({}));
    EXPECT_FALSE(standard_deviation({5}));
    EXPECT_DOUBLE_EQ(*standard_deviation({2, 4, 4, 6}), std::sqrt(8.0 / 3));
}

TEST(median, is_the_middle_value) {
    EXPECT_EQ(median({}), std::nullopt);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({1, 1, 1, 1000}), 1);
}

TEST(fairness_factor, is_the_busier_halfs_share) {
    EXPECT_DOUBLE_EQ(*fairness_factor({10, 10, 10, 10}), 0.5);
    EXPECT_DOUBLE_EQ(*fairness_factor({0, 30, 10, 0}), 1);
    EXPECT_DOUBLE_EQ(*fairness_factor({1, 3}), 0.75);
}

TEST(fairness_factor, splits_the_middle_one_of_an_odd_number) {
    EXPECT_DOUBLE_EQ(*fairness_factor({10, 10, 10}), 0.5);
    EXPECT_DOUBLE_EQ(*fairness_factor({0, 30, 0}), 1);
    EXPECT_DOUBLE_EQ(*fairness_factor({0, 2, 4}), 5.0 / 6);
}

TEST(fairness_factor, is_empty_where_there_is_nobody_to_be_unfair_to) {
    EXPECT_EQ(fairness_factor({}), std::nullopt);
    EXPECT_EQ(fairness_factor({5}), std::nullopt);
    EXPECT_EQ(fairness_factor({0, 0}), std::nullopt);
}

TEST(jain_index, goes_from_one_nth_to_one) {
    EXPECT_DOUBLE_EQ(*jain_index({5, 5, 5, 5}), 1);
    EXPECT_DOUBLE_EQ(*jain_index({0, 8, 0, 0}), 0.25);
    EXPECT_DOUBLE_EQ(*jain_index({1, 3}), 0.8);
    EXPECT_EQ(jain_index({}), std::nullopt);
    EXPECT_EQ(jain_index({5}), std::nullopt);
    EXPECT_EQ(jain_index({0, 0}), std::nullopt);
}

} // namespace
