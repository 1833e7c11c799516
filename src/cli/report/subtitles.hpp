// SPDX-License-Identifier: MIT OR Apache-2.0
// What pictures of a report show below their titles.
#pragma once

#include <string>
#include <vector>

#include "measure/result_record.hpp"

namespace holdfast::cli::report {

// Machine, kernel, what was measured, and the command.
std::vector<std::string> subtitles_of(const json &about, const std::string &what);

// " This machine was busy ...": behind the sentence of a section. Empty where nothing says so.
std::string why_no_measurement(const json &about);

} // namespace holdfast::cli::report
