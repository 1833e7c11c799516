// SPDX-License-Identifier: MIT OR Apache-2.0
// What came of one cell: of a run of a workload's program.
#pragma once

#include <optional>
#include <string>

#include "cli/start/process.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

struct cell_result {
    result_record record;
    std::string reason; // why it is not ok: one sentence
};

// The record that the program printed, when it went well. Otherwise nothing: the result says how it went, and why.
std::optional<json> record_printed(const process_end &end, cell_result &result);

} // namespace holdfast::cli
