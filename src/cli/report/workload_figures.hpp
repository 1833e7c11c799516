// SPDX-License-Identifier: MIT OR Apache-2.0
// The FlexGuard paper's figures of one workload, from the cells that `bench` measured.
#pragma once

#include "cli/report/drawn_locks.hpp"
#include "cli/report/figure.hpp"
#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

// `name` begins the names of its figures.
section workload_section(const workload_measurement &of, const drawn_locks &drawn, const std::string &name);

// Fairness against the time from a release to the next request: `of` differ in that time alone. The largest number of
// threads that all of them have.
section time_between_section(const std::vector<const workload_measurement *> &of, const drawn_locks &drawn,
                             const std::string &name);

} // namespace holdfast::cli::report
