// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/workload.hpp"

#include <fmt/core.h>
#include <stdexcept>

#include "workloads/lock_loops.hpp"
#include "workloads/patterns.hpp"

namespace holdfast::sim {

const std::vector<simulated_workload> &simulated_workloads() {
    static const std::vector<simulated_workload> all = {
        {"shared-memory", shared_memory},
        {"hash-table", hash_table},
        {"scl-fairness", scl_fairness},
        {"scl-toy", scl_toy},
        {"scl-overhead", scl_overhead},
        {"scl-readers-writers", scl_readers_writers},
        {"poll-under-lock", poll_under_lock},
        {"phases", phases},
        {"stages", stages},
        {"task-queue", task_queue},
    };
    return all;
}

const simulated_workload &find_simulated_workload(const std::string &name) {
    std::string known;
    for (const auto &one : simulated_workloads()) {
        if (name == one.name)
            return one;
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    throw std::invalid_argument(fmt::format("no workload '{}' is simulated: use one of {}", name, known));
}

} // namespace holdfast::sim
