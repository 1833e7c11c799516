// SPDX-License-Identifier: MIT OR Apache-2.0
// Workloads of bench/ in which each thread takes a lock, does something, and comes again.
#pragma once

#include "workloads/workload.hpp"

namespace holdfast::sim {

void shared_memory(simulation &on, measurement &figures, const workload_settings &settings);
void hash_table(simulation &on, measurement &figures, const workload_settings &settings);
void scl_fairness(simulation &on, measurement &figures, const workload_settings &settings);
void scl_toy(simulation &on, measurement &figures, const workload_settings &settings);
void scl_overhead(simulation &on, measurement &figures, const workload_settings &settings);
void scl_readers_writers(simulation &on, measurement &figures, const workload_settings &settings);

} // namespace holdfast::sim
