// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/quantity.hpp"

#include <array>
#include <cmath>
#include <fmt/core.h>

namespace holdfast::cli {
namespace {

// Values from 999.5 on would be written as 1000.
constexpr double next_unit_from = 999.5;

std::string three_digits(double value) {
    if (value == 0)
        return "0";
    if (value >= 99.95)
        return fmt::format("{:.0f}", value);
    if (value >= 9.995)
        return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

constexpr std::array count_units = {"", "k", "M", "G", "T"};
constexpr std::array duration_units = {"ns", "us", "ms", "s"};

// Brings the value below 1000, and returns the number of its unit.
template <std::size_t N>
std::size_t scale(double &value, const std::array<const char *, N> &) {
    std::size_t unit = 0;
    while (value >= next_unit_from && unit + 1 < N) {
        value /= 1000;
        unit++;
    }
    return unit;
}

template <std::size_t N>
std::string scaled(double value, const std::array<const char *, N> &units) {
    std::size_t unit = scale(value, units);
    // Whole numbers of the smallest unit stay whole.
    return (unit == 0 && value >= 10 ? fmt::format("{:.0f}", value) : three_digits(value)) + units[unit];
}

} // namespace

std::string format_number_of(unsigned count, const char *noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string format_count(double value) {
    return scaled(value, count_units);
}

std::string format_round_count(double value) {
    std::size_t unit = scale(value, count_units);
    return fmt::format("{:.3g}{}", value, count_units[unit]);
}

std::string format_duration_ns(double value) {
    return scaled(value, duration_units);
}

std::string format_round_duration_ns(double value) {
    std::size_t unit = scale(value, duration_units);
    return fmt::format("{:.6g}{}", value, duration_units[unit]);
}

std::string format_ratio(double value) {
    if (value >= 0.0995)
        return three_digits(value) + "x";
    if (value >= 0.0005)
        return fmt::format("{:.3f}x", value);
    return "<0.001x";
}

std::string format_minutes(double seconds) {
    long whole = std::lround(seconds);
    if (whole >= 3600)
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string format_two_decimals(double value) {
    return fmt::format("{:.2f}", value);
}

std::string format_four_decimals(double value) {
    return fmt::format("{:.4f}", value);
}

std::string format_measured(double value) {
    if (std::abs(value) >= 1000 && std::abs(value) < 1e15)
        return fmt::format("{:.0f}", value);
    return fmt::format("{:.4g}", value);
}

} // namespace holdfast::cli
