// SPDX-License-Identifier: MIT OR Apache-2.0
// What `holdfast bench` is told, and the cells that follow from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/cell_runner.hpp"
#include "cli/experiment/measured_locks.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

struct bench_options {
    bool list = false;
    std::string workload;
    std::vector<std::string> locks = every_lock();
    std::vector<unsigned> threads{1, 2, 4, 8, 16, 32, 64};
    double seconds = 0.5;
    unsigned rounds = 3;
    unsigned background = 0;
    std::optional<double> between_us;
    // Of workloads that take lengths, or slices (workload.hpp); empty for others.
    std::vector<unsigned> slices_us{0, 10, 100, 1000, 2000, 10'000};
    std::vector<double> sections_us{0, 1, 10, 100, 1000};
    double patience_s = 30;
    std::string json_path;
    std::string resume_path;
    std::string csv_path, markdown_path;
    std::string plot_path;
    std::vector<std::string> arguments; // to the workload program
    bool names_locks = false, names_threads = false, names_slices = false, names_sections = false;
};

// Fills in what the user did not say and the workload does, and takes out what is there twice. Throws usage_error for
// what the workload does not take.
void complete(bench_options &options);

// All that decides what is measured, in the order in which a difference is told.
json options_for_file(const bench_options &options);

// The cells of a round, in the order in which they are measured. The locks take turns within a round, so that what
// changes on the machine meanwhile changes for all; each round begins with another lock, so that none always follows
// the same one.
std::vector<cell> cells_of_round(const bench_options &options, unsigned round);

} // namespace holdfast::cli
