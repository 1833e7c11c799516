// SPDX-License-Identifier: MIT OR Apache-2.0
// How far off a median over few rounds may be.
#pragma once

#include <optional>
#include <vector>

namespace holdfast::cli {

struct interval {
    double low = 0, high = 0;
};

// In 95 of 100 such measurements the median lies within: the percentile bootstrap of Efron, the same one at each call
// for the same values. Empty for fewer than three values: those say nothing of how far apart others would be.
std::optional<interval> interval_of_median(const std::vector<double> &values);

} // namespace holdfast::cli
