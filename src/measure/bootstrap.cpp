// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/bootstrap.hpp"

#include <algorithm>
#include <cstddef>
#include <random>

#include "measure/statistics.hpp"

namespace holdfast::cli {

std::optional<interval> interval_of_median(const std::vector<double> &values) {
    constexpr std::size_t samples = 2000;
    constexpr double tail = 0.025;
    if (values.size() < values_of_interval)
        return std::nullopt;
    std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed,cert-msc32-c,cert-msc51-cpp): the same each time
    std::vector<double> medians, drawn(values.size());
    for (std::size_t i = 0; i < samples; i++) {
        for (double &each : drawn)
            each = values[random() % values.size()];
        medians.push_back(*median(drawn));
    }
    std::ranges::sort(medians);
    auto cut = static_cast<std::size_t>(tail * samples);
    return interval{.low = medians[cut], .high = medians[samples - 1 - cut]};
}

} // namespace holdfast::cli
