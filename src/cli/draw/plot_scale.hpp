// SPDX-License-Identifier: MIT OR Apache-2.0
// The axes of plots. gnuplot gets places on linear axes, with their labels: it does not know all of these scales.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

enum class scale {
    linear,        // from 0
    logarithmic,   // what is not above 0 has no place
    binary,        // logarithmic; ticks where values are, as for numbers of threads
    broken,        // linear to 1.2, logarithmic above: as the FlexGuard paper shows times as ratios
    log_from_zero, // 0 has a place, too: log(1 + x)
    nines,         // of shares: 0, 0.9, 0.99, 0.999, ... are equally far from each other
};

struct axis {
    std::string label;
    scale by = scale::linear;
    std::string (*format)(double) = nullptr; // a tick's label
    bool ticks_at_values = false;            // and nowhere else
};

// Empty when it can't be shown there.
std::optional<double> place_on(scale by, double value);

struct tick {
    std::string label; // may be empty
    double place;
};

// What of an axis is shown: what it includes, and a margin.
class axis_extent {
public:
    explicit axis_extent(const axis &shown) : axis_(shown) {}

    void include(double value);

    // Places.
    double from() const;
    double to() const;
    double span() const { return to() - from(); }
    std::vector<tick> ticks() const;

private:
    std::vector<tick> ticks_at(const std::vector<double> &values) const;
    std::vector<double> round_values() const;
    double margin() const;
    bool starts_at_zero() const;

    axis axis_;
    std::vector<double> values_;
    double low_ = 0; // places; undefined while there are no values
    double high_ = 0;
};

} // namespace holdfast::cli
