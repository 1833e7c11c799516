// SPDX-License-Identifier: MIT OR Apache-2.0
// The text of a results file: {"about": {...}, "records": [...]}, a record a line (docs/benchmarks.md).
#pragma once

#include <string>
#include <vector>

#include "cli/result_record.hpp"

namespace holdfast::cli {

// Command lines need not be UTF-8, JSON must.
inline std::string dumped(const json &value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

template <class Record>
std::string results_text(const json &about, const std::vector<Record> &records) {
    std::string text = "{\n\"about\": " + dumped(about, 2) + ",\n\"records\": [";
    const char *separator = "\n";
    for (const auto &record : records) {
        text += separator + dumped(json(record), -1);
        separator = ",\n";
    }
    return text + "\n]\n}\n";
}

} // namespace holdfast::cli
