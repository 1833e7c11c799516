// SPDX-License-Identifier: MIT OR Apache-2.0
// The text of a results file: {"version": 2, "about": {...}, "records": [...]}, a record a line (docs/benchmarks.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/result_record.hpp"

namespace holdfast::cli {

// Files of version 1 do not say so, and lack what version 2 added: the counts of waits, runnable threads, spins, how
// long was measured, and the options.
inline constexpr unsigned results_version = 2;

struct results {
    unsigned version = results_version;
    json about;
    std::vector<json> records;
};

// Command lines need not be UTF-8, JSON must.
std::string dumped(const json &value, int indent);

// `records` are dumped already.
std::string results_text(const json &about, const std::vector<std::string> &records);

// Throws usage_error with a sentence that says what is wrong with the file. What is in `records` is not looked at.
results read_results(const std::string &path);

// "Intel(R) Xeon(R) Processor, 2 CPUs". Throws nlohmann::json::exception when it is not there.
std::string machine_in(const json &about);

// What keeps figures of the two from standing in one file, as a phrase: "its kernel is 6.1, here it is 6.18". Empty
// when nothing does. More rounds than before are no difference.
std::string difference(const json &before, const json &now);

} // namespace holdfast::cli
