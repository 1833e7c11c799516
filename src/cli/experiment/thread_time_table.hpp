// SPDX-License-Identifier: MIT OR Apache-2.0
// What each thread had of the time, in tables and as a picture.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/heat_map.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

// A table for each number of threads, with a row for each lock and thread: parts of the measured time, medians over the
// rounds that were ok. Empty where they were not measured.
std::string thread_time_tables(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                               const std::vector<unsigned> &threads);

// What a thread did in the parts of the time, as "held the lock".
std::vector<std::string> thread_time_meanings();

// Were they measured?
bool has_thread_times(const std::vector<result_record> &records);

// The same in colours: a row for each thread, a column for each lock; a panel for each of thread_time_meanings. Without
// headings.
heat_map thread_time_map(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                         const std::vector<unsigned> &threads);

} // namespace holdfast::cli
