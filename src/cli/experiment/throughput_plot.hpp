// SPDX-License-Identifier: MIT OR Apache-2.0
// Throughput over numbers of threads, a line a lock.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/plot.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

// Of one workload; `cpus` of its machine are marked.
plot throughput_plot(const std::string &workload, const std::vector<result_record> &records,
                     const std::vector<std::string> &locks, std::vector<unsigned> threads, unsigned cpus);

} // namespace holdfast::cli
