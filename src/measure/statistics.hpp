// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures that measurements are summed up in. Empty where there is nothing to sum up.
#pragma once

#include <optional>
#include <vector>

namespace holdfast::cli {

// The middle value; of an even number of values the mean of the two in the middle.
std::optional<double> median(std::vector<double> values);

// Of the values about their mean, over n - 1. Empty for fewer than two values.
std::optional<double> standard_deviation(const std::vector<double> &values);

// Dice's fairness factor: the share of all operations that the busier half of the threads did. 0.5 is fair, 1 is not.
// Of an odd number of threads the middle one counts by half for each side. Empty for fewer than two threads, or no
// operations.
std::optional<double> fairness_factor(std::vector<double> operations);

// Jain's index: the square of the sum over n times the sum of squares. 1 is fair, 1/n is not. Empty for fewer than two
// shares, or when all are 0.
std::optional<double> jain_index(const std::vector<double> &shares);

} // namespace holdfast::cli
