// SPDX-License-Identifier: MIT OR Apache-2.0
// Figures of one program under several locks, from the runs that `compare` measured.
#pragma once

#include "cli/report/drawn_locks.hpp"
#include "cli/report/figure.hpp"
#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

// `name` begins the names of its figures.
section program_section(const program_measurement &of, const drawn_locks &drawn, const std::string &name);

} // namespace holdfast::cli::report
