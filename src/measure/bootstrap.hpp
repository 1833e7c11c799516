// SPDX-License-Identifier: MIT OR Apache-2.0
// How far off a median over few rounds may be.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::cli {

struct interval {
    double low = 0, high = 0;
};

// In some 9 of 10 such measurements the median lies within: the percentile bootstrap of Efron, the same one at each
// call for the same values. Of few values that is less than the 95 of 100 that it is made for: 76 of 100 with three, 87
// with seven, 90 with fifteen (bootstrap_test). Empty for fewer than three: those say nothing of how far apart others
// would be.
inline constexpr std::size_t values_of_interval = 3; // at least
std::optional<interval> interval_of_median(const std::vector<double> &values);

} // namespace holdfast::cli
