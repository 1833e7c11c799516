// SPDX-License-Identifier: MIT OR Apache-2.0
// Figure 5 of the scheduler-cooperative locks' paper: lengths of slices by lengths of sections.
#pragma once

#include "cli/report/figure.hpp"
#include "cli/report/slice_measurement.hpp"

namespace holdfast::cli::report {

// A heat map, and a table for each figure and number of threads. `name` begins the names of its figures.
section slice_section(const slice_measurement &of, const std::string &name);

} // namespace holdfast::cli::report
