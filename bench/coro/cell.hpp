// SPDX-License-Identifier: MIT OR Apache-2.0
// What a coroutine workload is told, and what it finds out.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/histogram.hpp"
#include "harness/process_use.hpp"

namespace holdfast::bench {

struct cell_options {
    std::string workload;
    std::string lock = "ces";
    unsigned workers = 2; // --threads
    double seconds = 0.5;
    unsigned tasks = 5000;
    double section_us = 0; // added to each critical section
    unsigned bystanders = 0;
    double bystander_us = 5;       // of each of their turns
    unsigned writers = 50;         // percent, of coro-rwlock
    unsigned resources = 1;        // locks, of coro-mutex and coro-locality
    unsigned cached_rows = 10'000; // of coro-leveldb
    unsigned spins = 16;           // mutex_options::spins_max
    unsigned chain_max = 64;       // pool_options::chain_max
    unsigned turns = 1;            // 0: not pool_options::turns
};

struct cell_result {
    double elapsed_s = 0;
    process_use use;
    std::uint64_t operations = 0;
    std::uint64_t bystander_turns = 0;
    std::optional<double> burden_jain;
    std::optional<double> same_worker;
    std::optional<double> same_worker_calm; // of coro-locality
    histogram delay_ticks;                  // empty where it is not measured
};

// What the lock protects is not what it must be.
class result_wrong : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace holdfast::bench
