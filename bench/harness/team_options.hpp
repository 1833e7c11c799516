// SPDX-License-Identifier: MIT OR Apache-2.0
// What each workload is told of its team: how many threads, and for how long.
#pragma once

#include <CLI/CLI.hpp>

#include "measure/number_range.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {

inline void add_team_options(CLI::App &app, unsigned &threads, double &seconds) {
    app.add_option("--threads", threads, "Number of threads")
        ->check(cli::from_to(1u, cli::threads_max))
        ->capture_default_str();
    app.add_option("--seconds", seconds, "How long to measure")
        ->check(cli::from_to(cli::seconds_min, cli::seconds_max))
        ->capture_default_str();
}

} // namespace holdfast::bench
