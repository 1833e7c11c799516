// SPDX-License-Identifier: MIT OR Apache-2.0
// Workloads of bench/ that are patterns of programs: mutexes and condition variables, and work outside of them.
#pragma once

#include "workloads/workload.hpp"

namespace holdfast::sim {

void poll_under_lock(simulation &on, measurement &figures, const workload_settings &settings);
void phases(simulation &on, measurement &figures, const workload_settings &settings);
void stages(simulation &on, measurement &figures, const workload_settings &settings);
void task_queue(simulation &on, measurement &figures, const workload_settings &settings);

} // namespace holdfast::sim
