// SPDX-License-Identifier: MIT OR Apache-2.0
// Comma-separated values, as RFC 4180 has them.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace holdfast::cli {

// Quoted where it must be. A spreadsheet takes what begins like a formula for one: that begins with ' instead.
std::string csv_text(const std::string &text);

// Empty where there is none.
std::string csv_number(std::optional<double> value);

// Of fields that are quoted already.
std::string csv_line(std::span<const std::string> fields);

} // namespace holdfast::cli
