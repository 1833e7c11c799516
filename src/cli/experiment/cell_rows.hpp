// SPDX-License-Identifier: MIT OR Apache-2.0
// The cells of a measurement, one a row, for other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/exported_table.hpp"
#include "cli/experiment/slice_grid.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

// `records` are of one workload and one background; `sections_us` is empty where they have no length of their own.
// Durations are in nanoseconds. What was not measured is an empty field.
std::string cell_rows(const std::vector<result_record> &records, const std::vector<contender> &contenders,
                      const std::vector<unsigned> &threads, const std::vector<double> &sections_us, table_form form);

} // namespace holdfast::cli
