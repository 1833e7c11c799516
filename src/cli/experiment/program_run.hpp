// SPDX-License-Identifier: MIT OR Apache-2.0
// The result of one run of a user's program under one lock; and the runs of one lock summed up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/exported_table.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

enum class run_status {
    ok,
    no_metric, // it ended well, but the metric's expression found no number
    failed,    // its exit status is not 0
    crash,     // killed by a signal
    timeout,   // had to be ended
};

const char *name_of(run_status status);

struct program_run {
    std::string lock;
    unsigned threads = 0; // what {} stood for; 0: --threads was not given
    unsigned round = 0;   // from 1
    run_status status = run_status::ok;
    std::optional<double> metric = {};
    double wall_s = 0;
    double cpu_s = 0;
    std::optional<double> context_switches = {}; // files of before do not have it
};

void to_json(json &target, const program_run &run);
// Throws nlohmann::json::exception when it is not a run.
void from_json(const json &source, program_run &run);

// What stands before the number in the program's output, as 'ops/s' in 'ops/s: ([0-9.]+)', as far as it is plain text.
std::string name_of_metric(const std::string &pattern);

// What is compared, and which direction is better.
struct yardstick {
    bool by_metric;
    bool higher_is_better;
    std::string metric_name = "metric";

    // Empty when the run is not ok.
    std::optional<double> value(const program_run &run) const;
};

// A row a lock: status, medians, and the ratio to glibc, made so that above 1 is better than glibc.
std::string comparison_table(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                             const yardstick &by);

// Of each round in which the lock and glibc both went well: above 1 is better than glibc. Times that the clock can't
// tell apart have none.
std::vector<double> ratios_to_glibc(const std::vector<program_run> &runs, const std::string &lock, const yardstick &by);

// The same table for other programs.
std::string comparison_rows(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                            const std::vector<unsigned> &threads, const yardstick &by, table_form form);

// The runs with that number of threads.
std::vector<program_run> with_threads(const std::vector<program_run> &runs, unsigned threads);

// Two tables, of medians and of ratios to glibc, with a row a lock and a column a number of threads. Of a lock that
// went well in some rounds only there is a `*`; else what became of it.
std::string comparison_grid(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                            const std::vector<unsigned> &threads, const yardstick &by);

} // namespace holdfast::cli
