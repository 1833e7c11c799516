// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading what a results file holds, which anybody may have written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cli/experiment/results_file.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli::report {

// Throws nlohmann::json::exception: these are not records of one measurement.
[[noreturn]] void refuse(const char *why);

// Throws the same unless it says on what was measured, and how.
void check_about(const json &about);
unsigned cpus_in(const json &about);

// Those of a file of `bench`. Throws the same.
std::vector<result_record> records_in(const results &file);

// Of what was to be measured.
std::size_t not_ok_among(const std::vector<result_record> &records);

template <class Value>
void note_once(std::vector<Value> &values, const Value &value) {
    if (std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
}

} // namespace holdfast::cli::report
