// SPDX-License-Identifier: MIT OR Apache-2.0
// The verbs of the holdfast command. Each adds its subcommand to the application; main() runs the one that was named.
#pragma once

#include <functional>

#include "cli/start/ending.hpp"

namespace CLI {
class App;
}

namespace holdfast::cli {

// Set by the subcommand that the command line names: does the work and returns how it ended.
using action = std::function<ending()>;

void add_run(CLI::App &app, action &chosen);
void add_compare(CLI::App &app, action &chosen);
void add_bench(CLI::App &app, action &chosen);
void add_doctor(CLI::App &app, action &chosen);
void add_monitor(CLI::App &app, action &chosen);
void add_oversub(CLI::App &app, action &chosen);
void add_record(CLI::App &app, action &chosen);
void add_report(CLI::App &app, action &chosen);
void add_simulate(CLI::App &app, action &chosen);
void add_top(CLI::App &app, action &chosen);
void add_completion(CLI::App &app, action &chosen);

// Says of --help's locks and threads what they are with the workload that is named, if one is.
void fit_help_to_workload(CLI::App &bench_verb);

} // namespace holdfast::cli
