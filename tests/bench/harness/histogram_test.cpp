// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using holdfast::bench::histogram;

TEST(histogram, knows_nothing_when_empty) {
    histogram empty;
    EXPECT_EQ(empty.count(), 0u);
    EXPECT_EQ(empty.max(), 0u);
    EXPECT_EQ(empty.mean(), 0);
    EXPECT_EQ(empty.quantile(0.5), 0u);
}

TEST(histogram, keeps_small_values_exactly) {
    histogram values;
    for (std::uint64_t value = 0; value < 64; value++)
        values.add(value);
    EXPECT_EQ(values.quantile(0), 0u);
    EXPECT_EQ(values.quantile(0.5), 31u);
    EXPECT_EQ(values.quantile(1), 63u);
    EXPECT_EQ(values.mean(), 31.5);
}

TEST(histogram, keeps_any_value_within_a_64th) {
    for (unsigned power = 6; power < 64; power++) {
        for (std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << power) - 1}) {
            std::uint64_t value = (std::uint64_t{1} << power) + offset;
            histogram one;
            one.add(value);
            one.add(UINT64_MAX); // so that the answer is not the exact maximum
            double error = static_cast<double>(one.quantile(0.5)) / static_cast<double>(value) - 1;
            EXPECT_LE(std::abs(error), 1.0 / 64) << value;
        }
    }
}

TEST(histogram, takes_the_largest_value) {
    histogram one;
    one.add(UINT64_MAX);
    EXPECT_EQ(one.max(), UINT64_MAX);
    EXPECT_GT(one.quantile(1), UINT64_MAX / 64 * 63);
}

TEST(histogram, agrees_with_sorting) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> durations(8, 3);
    histogram measured;
    std::vector<std::uint64_t> sorted;
    for (int i = 0; i < 100000; i++) {
        auto value = static_cast<std::uint64_t>(durations(random));
        measured.add(value);
        sorted.push_back(value);
    }
    std::sort(sorted.begin(), sorted.end());
    for (double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1;
        auto exact = static_cast<double>(sorted[rank]);
        EXPECT_NEAR(static_cast<double>(measured.quantile(share)), exact, exact / 64 + 1) << share;
    }
    EXPECT_EQ(measured.max(), sorted.back());
}

TEST(histogram, never_answers_more_than_the_maximum) {
    histogram values;
    values.add(1000); // the first value of its bucket: the middle lies above
    EXPECT_LE(values.quantile(0.999), values.max());
}

TEST(histogram, merges) {
    histogram low, high, all;
    for (std::uint64_t value = 1; value <= 1000; value++) {
        (value <= 900 ? low : high).add(value * 1000);
        all.add(value * 1000);
    }
    low.merge(high);
    EXPECT_EQ(low.count(), all.count());
    EXPECT_EQ(low.max(), all.max());
    EXPECT_EQ(low.mean(), all.mean());
    for (double share : {0.1, 0.5, 0.95, 0.999})
        EXPECT_EQ(low.quantile(share), all.quantile(share)) << share;
}

} // namespace
