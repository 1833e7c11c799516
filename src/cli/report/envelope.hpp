// SPDX-License-Identifier: MIT OR Apache-2.0
// Is our default mutex as good as the best lock, cell by cell? What is asked of it, and whether it keeps to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/figure.hpp"
#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

// Our mutex with one number of threads, beside glibc's and the other locks of the run ("peers"). Ratios are medians of
// those within a round; each is empty where something for it is missing.
struct envelope_cell {
    unsigned threads = 0;
    bool oversubscribed = false; // more threads, with those of the background, than CPUs
    std::string trouble;         // what became of a round that did not end well
    std::optional<double> ops_per_s;
    std::optional<double> to_glibc;
    std::string best; // the peer with the highest throughput
    std::optional<double> to_best;
    std::string best_fair; // the same of those whose fairness factor is at most 0.7
    std::optional<double> to_best_fair;
    std::optional<double> p999_to_glibc;
    std::optional<double> max_to_glibc; // the longest wait of all rounds, of both
    std::optional<double> wait_max_ns;
    std::optional<double> fairness_factor;
    std::optional<double> cpu_to_glibc; // CPU time of an operation
};

// "flexguard", or "default" where that was measured; empty when neither was.
std::string own_lock(const workload_measurement &of);

std::vector<envelope_cell> envelope_of(const workload_measurement &of, const std::string &own);

// A table for each of these workloads in which both our mutex and glibc's were measured, and one of the programs; each
// cell marked. Without figures where there is nothing to judge.
section envelope_section(const std::vector<workload_measurement> &workloads,
                         const std::vector<program_measurement> &programs);

} // namespace holdfast::cli::report
