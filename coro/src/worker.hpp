// SPDX-License-Identifier: MIT OR Apache-2.0
// A worker of a pool: its thread, its queue, and what it counts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "worker_queue.hpp"

namespace holdfast::coro {

// Of a worker (worker_sleep.hpp).
enum : std::uint32_t { awake, sleeping, notified };

// Counters that one thread writes and any may read.
class counter {
public:
    void add(std::uint64_t by = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_ = 0;
};

struct alignas(64) worker {
    worker_queue ready;                       // scheduled by this worker
    std::atomic<std::uint32_t> sleep = awake; // by whom it is written: worker_sleep.hpp
    unsigned number = 0;
    unsigned taken = 0;               // how often, but owners (ready_work.hpp)
    std::vector<std::size_t> victims; // in the order in which it steals from them
    std::chrono::steady_clock::time_point counts_cpus_at;
    counter resumed, stolen, slept;
    std::thread thread;
};

using worker_list = std::deque<worker>; // not moved

} // namespace holdfast::coro
