// SPDX-License-Identifier: MIT OR Apache-2.0
// What top shows, for scripts and files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/top/change.hpp"
#include "cli/top/ranking.hpp"

namespace holdfast::cli::top {

// All of the change that the ranking lets through. Times in ns, shares of 1; null is what is not known.
nlohmann::ordered_json json_of(const change &what, const ranking &how);

// A line for each process and each of its locks, in columns that csv_heading names. What is not known is empty.
std::string csv_heading();
std::string csv_of(const change &what, const ranking &how, std::size_t locks_of_each);

// The summary and the table, lines ended, as wide as they need to be.
std::string text_of(const change &what, const ranking &how, std::size_t locks_of_each);

} // namespace holdfast::cli::top
