// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

namespace holdfast::cli {

std::optional<double> median(std::vector<double> values) {
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    std::size_t middle = values.size() / 2;
    if (values.size() % 2)
        return values[middle];
    return values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

std::optional<double> standard_deviation(const std::vector<double> &values) {
    if (values.size() < 2)
        return std::nullopt;
    auto count = static_cast<double>(values.size());
    double mean = std::accumulate(values.begin(), values.end(), 0.0) / count, squares = 0;
    for (double each : values)
        squares += (each - mean) * (each - mean);
    return std::sqrt(squares / (count - 1));
}

std::optional<double> fairness_factor(std::vector<double> operations) {
    double total = std::accumulate(operations.begin(), operations.end(), 0.0);
    if (operations.size() < 2 || total <= 0)
        return std::nullopt;
    std::sort(operations.begin(), operations.end(), std::greater<>());
    std::size_t half = operations.size() / 2;
    double busier = std::accumulate(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(half), 0.0);
    if (operations.size() % 2)
        busier += operations[half] / 2;
    return busier / total;
}

std::optional<double> jain_index(const std::vector<double> &shares) {
    double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
    if (shares.size() < 2 || squares <= 0)
        return std::nullopt;
    return sum * sum / (static_cast<double>(shares.size()) * squares);
}

} // namespace holdfast::cli
