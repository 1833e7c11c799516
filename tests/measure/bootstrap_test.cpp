// SPDX-License-Identifier: MIT OR Apache-2.0
// The interval of a median. Shown able to fail: with the values themselves in place of samples of them; with tails of
// one in four.
#include "measure/bootstrap.hpp"

#include <gtest/gtest.h>
#include <random>

#include "measure/statistics.hpp"

namespace holdfast::cli {
namespace {

TEST(bootstrap, says_nothing_of_two_values) {
    EXPECT_FALSE(interval_of_median({}));
    EXPECT_FALSE(interval_of_median({1, 2}));
}

TEST(bootstrap, of_values_that_are_alike_is_that_value) {
    EXPECT_EQ(interval_of_median({1.5, 1.5, 1.5, 1.5})->low, 1.5);
    EXPECT_EQ(interval_of_median({1.5, 1.5, 1.5, 1.5})->high, 1.5);
}

TEST(bootstrap, lies_within_the_values_and_around_the_median) {
    std::vector<double> values{0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 9};
    std::optional<interval> found = interval_of_median(values);
    EXPECT_GE(found->low, 0.9);
    EXPECT_LE(found->low, *median(values));
    EXPECT_GE(found->high, *median(values));
    EXPECT_LT(found->high, 9) << "one value that is far off says little";
}

// Of how many of 100 measurements of so many rounds, with a known median.
double share_within(int rounds) {
    std::mt19937 random(7);
    std::lognormal_distribution<double> values(0, 0.3); // its median is 1
    int within = 0;
    constexpr int measurements = 400;
    for (int i = 0; i < measurements; i++) {
        std::vector<double> ratios;
        for (int round = 0; round < rounds; round++)
            ratios.push_back(values(random));
        std::optional<interval> found = interval_of_median(ratios);
        within += found->low <= 1 && found->high >= 1;
    }
    return 100.0 * within / measurements;
}

TEST(bootstrap, has_the_median_within_it_as_often_as_it_says) {
    EXPECT_NEAR(share_within(3), 76, 6);
    EXPECT_NEAR(share_within(7), 87, 6);
    EXPECT_NEAR(share_within(15), 90, 6);
}

} // namespace
} // namespace holdfast::cli
