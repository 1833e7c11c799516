// SPDX-License-Identifier: MIT OR Apache-2.0
// The workloads that are simulated: those of bench/ by the same names, as far as they are locks and time.
#pragma once

#include <string>

#include "workloads/lock_kinds.hpp"
#include "workloads/measurement.hpp"

namespace holdfast::sim {

struct workload_settings {
    std::string workload = "shared-memory";
    const hf_lock_kind *lock = nullptr;
    unsigned threads = 1;
    double section_ns = 0, between_ns = -1; // below 0: as the workload has it
};

// Adds its threads to the simulation. Throws std::invalid_argument for a workload that is not there.
void add_workload(simulation &to, measurement &figures, const workload_settings &settings);

} // namespace holdfast::sim
