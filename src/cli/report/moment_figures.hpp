// SPDX-License-Identifier: MIT OR Apache-2.0
// Figures of one number of threads: how long they waited, and how many of them wanted a CPU while they did.
#pragma once

#include <optional>

#include "cli/report/drawn_locks.hpp"
#include "cli/report/figure.hpp"
#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

// The distribution of waiting times, all rounds together. Empty when it was not measured, as in files of version 1.
std::optional<figure> waiting_times(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                    unsigned threads);

// The distribution of queuing delays of coroutines, likewise.
std::optional<figure> queuing_delays(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                     unsigned threads);

// Of the first round. Empty when it was not measured.
std::optional<figure> runnable_threads(const workload_measurement &of, const drawn_locks &drawn,
                                       const std::string &name, unsigned threads);

} // namespace holdfast::cli::report
