// SPDX-License-Identifier: MIT OR Apache-2.0
// The result of one cell (a workload, a lock, a number of threads) in one round, and how it is written as JSON. The
// fields are described in docs/benchmarks.md.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/duration_counts.hpp"
#include "measure/thread_time.hpp"

namespace holdfast::cli {

// Fields stay in the order in which they are written.
using json = nlohmann::ordered_json;

enum class cell_status {
    ok,
    timeout, // had to be ended
    crash,   // killed by a signal
    failed,  // said so itself, or its output can't be read
    absent,  // the lock is not to be had here
};

const char *name_of(cell_status status);

// How many of the workload's threads were running or wanted to, at one moment of a measurement.
struct runnable_sample {
    double at_ms = 0; // since it began
    unsigned threads = 0;
};

struct result_record {
    std::string workload;
    std::string lock;
    unsigned threads = 0;
    unsigned background = 0;          // busy threads of another process
    unsigned round = 0;               // from 1; 0: the workload program was run by itself
    std::string arguments;            // that the workload program was given besides; not written when empty
    std::optional<double> between_us; // what --between-us said; absent: the workload's own time
    std::optional<double> slice_us;   // length of u-SCL's slices, where the workload was told; likewise
    std::optional<double> section_us; // of critical sections
    cell_status status = cell_status::ok;

    // Absent when not measured.
    std::optional<double> line_ns; // that a cache line took from one CPU to another, just before the cell
    std::optional<double> ops_per_s;
    std::optional<double> wait_mean_ns;
    std::optional<double> wait_p50_ns;
    std::optional<double> wait_p99_ns;
    std::optional<double> wait_p999_ns;
    std::optional<double> wait_max_ns;
    std::optional<double> fairness_factor;
    std::optional<double> jain_ops;
    std::optional<double> jain_hold;
    std::optional<double> share_error;
    std::optional<double> cpu_s;
    std::optional<double> context_switches;
    std::optional<double> migrations;
    std::optional<double> measured_s;
    std::optional<double> spins;
    duration_counts wait_counts;           // empty when not measured
    std::vector<runnable_sample> runnable; // likewise
    std::vector<thread_time> thread_times; // by the thread's number; likewise
    // Of coroutine workloads.
    std::optional<double> burden_jain;      // of the sections that each worker ran
    std::optional<double> same_worker;      // share of sections on the worker of the section before
    std::optional<double> same_worker_calm; // the same, while nobody waits
    std::optional<double> bystander_turns_per_s;
    std::optional<double> bystander_share; // of the CPU time used, over what it would be if all tasks got the same
    std::optional<double> delay_mean_ns;   // that the lock was free while its next owner waited for it
    std::optional<double> delay_p50_ns;
    std::optional<double> delay_p99_ns;
    std::optional<double> delay_max_ns;
    duration_counts delay_counts; // empty when not measured
};

// A whole number, not below `least` and not above 1,000,000. Throws nlohmann::json::exception when it is none.
unsigned count_in(const json &source, const char *name, unsigned least);

// [milliseconds, threads].
void to_json(json &target, const runnable_sample &sample);
void from_json(const json &source, runnable_sample &sample);

void to_json(json &target, const result_record &record);
// Throws nlohmann::json::exception when it is not a record.
void from_json(const json &source, result_record &record);

} // namespace holdfast::cli
