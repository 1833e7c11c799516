// SPDX-License-Identifier: MIT OR Apache-2.0
// A results file of a workload that was measured for several lengths of slices and sections (scl-slice).
#pragma once

#include <cstddef>
#include <vector>

#include "cli/experiment/results_file.hpp"
#include "cli/experiment/slice_grid.hpp"

namespace holdfast::cli::report {

class slice_measurement {
public:
    // Its first record is of such a workload.
    static bool is_in(const results &file);

    // Throws nlohmann::json::exception when these are not records of one such workload.
    explicit slice_measurement(const results &file);

    const json &about() const { return about_; }
    const std::string &workload() const { return records_.front().workload; }
    unsigned background() const { return records_.front().background; }
    const std::vector<result_record> &records() const { return records_; }
    // In the order in which they were measured; numbers of threads in which they grow.
    const slice_grid &grid() const { return grid_; }
    std::size_t not_ok() const;

private:
    json about_;
    std::vector<result_record> records_;
    slice_grid grid_;
};

} // namespace holdfast::cli::report
