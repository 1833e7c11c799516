// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/draw/plot_scale.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace holdfast::cli {
namespace {

constexpr double break_at = 1.2;
// How much of the axis a decade above the break takes, where 0 to 1.2 take 1.2: six decades leave them a third of it.
constexpr double places_a_decade = 0.4;
constexpr double label_gap = 0.03; // of the axis, that labels of ticks are apart at least

// Shares closer to 1 than this are shown as this.
constexpr double share_max = 1 - 1e-7;

// 1, 2 and 5 times the powers of ten between.
std::vector<double> preferred_numbers(int lowest_power, int highest_power) {
    std::vector<double> values;
    for (int power = lowest_power; power <= highest_power; power++) {
        for (int digit : {1, 2, 5})
            values.push_back(digit * std::pow(10, power));
    }
    return values;
}

// Powers of ten alone, where more would be too many.
std::vector<double> sparse_if(bool wide, std::vector<double> numbers) {
    std::erase_if(numbers, [wide](double number) {
        double power = std::log10(number);
        return wide && std::abs(power - std::round(power)) > 1e-9;
    });
    return numbers;
}

std::vector<double> linear_steps(double to) {
    constexpr double steps_max = 8;
    std::vector<double> values;
    for (double step : preferred_numbers(-9, 15)) {
        if (to / step > steps_max)
            continue;
        for (int i = 0; i * step <= to; i++)
            values.push_back(i * step);
        break;
    }
    return values;
}

} // namespace

std::optional<double> place_on(scale by, double value) {
    if (!std::isfinite(value))
        return std::nullopt;
    switch (by) {
    case scale::linear: return value;
    case scale::logarithmic:
    case scale::binary: return value > 0 ? std::optional(std::log10(value)) : std::nullopt;
    case scale::broken: return value <= break_at ? value : break_at + places_a_decade * std::log10(value / break_at);
    case scale::log_from_zero: return value >= 0 ? std::optional(std::log10(1 + value)) : std::nullopt;
    case scale::nines: return -std::log10(1 - std::clamp(value, 0.0, share_max));
    }
    return std::nullopt;
}

void axis_extent::include(double value) {
    auto place = place_on(axis_.by, value);
    if (!place)
        return;
    if (values_.empty())
        low_ = high_ = *place;
    low_ = std::min(low_, *place);
    high_ = std::max(high_, *place);
    values_.push_back(value);
}

bool axis_extent::starts_at_zero() const {
    return axis_.by != scale::logarithmic && axis_.by != scale::binary;
}

double axis_extent::margin() const {
    if (values_.empty())
        return 0;
    double span = starts_at_zero() ? high_ : high_ - low_;
    if (axis_.by == scale::logarithmic)
        return std::max(0.2, span * 0.02);
    return std::max(span * 0.05, starts_at_zero() && high_ > 0 ? 0 : 0.015);
}

double axis_extent::from() const {
    if (!starts_at_zero())
        return low_ - margin();
    return axis_.ticks_at_values ? -margin() : 0;
}

double axis_extent::to() const {
    return values_.empty() ? 1 : high_ + margin();
}

std::vector<tick> axis_extent::ticks() const {
    if (axis_.ticks_at_values || axis_.by == scale::binary) {
        std::set<double> each(values_.begin(), values_.end());
        return ticks_at({each.begin(), each.end()});
    }
    return ticks_at(round_values());
}

std::vector<double> axis_extent::round_values() const {
    std::vector<double> values;
    switch (axis_.by) {
    case scale::linear: return linear_steps(to());
    case scale::logarithmic:
    case scale::binary: {
        int lowest = static_cast<int>(std::floor(from())), highest = static_cast<int>(std::ceil(to()));
        return sparse_if(span() > 3.3, preferred_numbers(lowest, highest));
    }
    case scale::broken:
        values = {0, 0.2, 0.4, 0.6, 0.8, 1, break_at};
        for (double value : sparse_if(to() > break_at + 2 * places_a_decade, preferred_numbers(0, 15))) {
            if (value > break_at)
                values.push_back(value);
        }
        return values;
    case scale::log_from_zero:
        values = {0};
        // Below 1 only where there is nothing much above.
        for (double value : sparse_if(to() > 3.3, preferred_numbers(to() > 0.7 ? 0 : -1, 15)))
            values.push_back(value);
        return values;
    case scale::nines:
        for (int digits = 0; digits <= 7; digits++)
            values.push_back(1 - std::pow(10, -digits));
        values.push_back(0.5);
        std::sort(values.begin(), values.end());
        return values;
    }
    return values;
}

// Labels that would touch the one before are left out.
std::vector<tick> axis_extent::ticks_at(const std::vector<double> &values) const {
    std::vector<tick> ticks;
    double last = -1e300;
    for (double value : values) {
        auto place = place_on(axis_.by, value);
        if (!place || *place < from() - 1e-9 || *place > to() + 1e-9)
            continue;
        bool labelled = *place - last >= span() * label_gap;
        ticks.push_back({labelled && axis_.format ? axis_.format(value) : "", *place});
        if (labelled)
            last = *place;
    }
    return ticks;
}

} // namespace holdfast::cli
