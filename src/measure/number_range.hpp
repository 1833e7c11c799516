// SPDX-License-Identifier: MIT OR Apache-2.0
// The check of an option that takes a number: CLI11's own lets "nan" through, and explains less.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <fmt/core.h>
#include <string>
#include <type_traits>

namespace holdfast::cli {

template <class Number>
CLI::Validator from_to(Number low, Number high) {
    auto check = [low, high](const std::string &text) -> std::string {
        Number value{};
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool is_number = error == std::errc() && end == text.data() + text.size();
        if (is_number && value >= low && value <= high)
            return "";
        return fmt::format("'{}' is not a {} from {} to {}", text,
                           std::is_integral_v<Number> ? "whole number" : "number", low, high);
    };
    return CLI::Validator(check, "");
}

} // namespace holdfast::cli
