// SPDX-License-Identifier: MIT OR Apache-2.0
// The workloads that are simulated: those of bench/ by the same names, as far as they are locks and time.
#pragma once

#include <string>
#include <vector>

#include "workloads/lock_kinds.hpp"
#include "workloads/measurement.hpp"

namespace holdfast::sim {

// Times below 0: as the workload has it.
struct workload_settings {
    std::string workload = "shared-memory";
    const hf_lock_kind *lock = nullptr;
    unsigned threads = 1;
    double between_us = -1; // from a release to the next request
    double section_us = -1; // of critical sections
    double work_us = -1;    // of a piece of work outside of all locks
};

struct simulated_workload {
    const char *name;
    void (*add_threads)(simulation &to, measurement &figures, const workload_settings &settings);
};

const std::vector<simulated_workload> &simulated_workloads();

// Throws std::invalid_argument with a sentence that lists the known names.
const simulated_workload &find_simulated_workload(const std::string &name);

} // namespace holdfast::sim
