// SPDX-License-Identifier: MIT OR Apache-2.0
// The rounds of one cell summed up, and tables of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/bootstrap.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

// The number of the last round.
unsigned rounds_in(const std::vector<result_record> &records);

struct cell_summary {
    unsigned rounds = 0;
    unsigned rounds_ok = 0;
    std::string trouble; // the first status that is not ok
    // Over the rounds that were ok; empty without.
    std::optional<double> ops_per_s; // median
    std::optional<double> ops_per_s_min;
    std::optional<double> ops_per_s_max;
    std::optional<double> ops_per_s_sigma; // standard deviation; of two rounds or more
    std::optional<double> ratio_to_glibc;  // median of the ratios within a round
    std::optional<interval> within_glibc;  // where that lies
    std::optional<double> wait_p999_ns;    // median
    std::optional<double> wait_max_ns;     // maximum
    std::optional<double> fairness_factor; // median
    std::optional<double> jain_hold;       // median
    std::optional<double> share_error;     // median
    std::optional<double> wait_p50_ns;     // median
    // Of coroutine workloads; medians.
    std::optional<double> ratio_to_dispatch; // of the ratios within a round
    std::optional<interval> within_dispatch;
    std::optional<double> burden_jain;
    std::optional<double> same_worker;
    std::optional<double> same_worker_calm;
    std::optional<double> bystander_turns_per_s;
    std::optional<double> bystander_share;
    std::optional<double> delay_p50_ns;
    std::optional<double> delay_p99_ns;
    std::optional<double> delay_max_ns; // maximum
};

// `records` are of one workload and one background.
cell_summary summarize(const std::vector<result_record> &records, const std::string &lock, unsigned threads);

// Throughput, ratio to glibc (of coroutines: to dispatch), waiting and fairness: a table each, a row a lock, a
// column a number of threads.
std::string cell_tables(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                        const std::vector<unsigned> &threads);

} // namespace holdfast::cli
