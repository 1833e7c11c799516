// SPDX-License-Identifier: MIT OR Apache-2.0
// The toy of the scheduler-cooperative locks' paper: what each thread had of the time.
#pragma once

#include <optional>
#include <string>

#include "cli/report/figure.hpp"
#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

// A heat map and its table. Empty when it was not measured.
std::optional<figure> thread_times(const workload_measurement &of, const std::string &name);

} // namespace holdfast::cli::report
