// SPDX-License-Identifier: MIT OR Apache-2.0
// A pool with the tasks of one cell: how they are counted, measured and ended.
//
//               a third of the time                 time is over
//     WARMING_UP -------------------> MEASURING ---------------------> OVER: each task ends at its next look
//
// Counts are each worker's own, read at the beginning and at the end of the measurement: what a task does after it is
// not in the throughput.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <vector>

#include "base/cpu.h"
#include "coro/cell.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::bench {

class scene {
public:
    explicit scene(const cell_options &options);

    // Runs `spawn_all`, which spawns options.tasks tasks; measures; then runs `wake`, which makes tasks go on that wait
    // for what does not come any more, and waits until all have ended.
    cell_result run(const std::function<void(coro::pool &)> &spawn_all, const std::function<void()> &wake = {});

    const cell_options &options() const noexcept { return options_; }

    // For tasks.
    bool over() const noexcept { return phase_.load(std::memory_order_acquire) == phase::over; }
    bool measuring() const noexcept { return phase_.load(std::memory_order_relaxed) == phase::measuring; }
    // An operation, on the worker that runs the caller.
    void count() noexcept { counts_[worker_here()].add(); }
    static unsigned worker_here() noexcept { return coro::current_context()->worker; }
    // The last thing that each task does.
    void ended(std::uint64_t operations) noexcept {
        operations_.fetch_add(operations, std::memory_order_relaxed);
        running_.count_down();
    }
    // Of all tasks that have ended, from their beginnings.
    std::uint64_t operations() const noexcept { return operations_.load(std::memory_order_relaxed); }

private:
    enum class phase { warming_up, measuring, over };

    // Written by one worker.
    struct alignas(HF_CACHE_LINE_BYTES) own_count {
        std::atomic<std::uint64_t> value = 0;
        void add() noexcept { value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    };

    std::vector<std::uint64_t> counted(const std::vector<own_count> &counts) const;
    coro::task<> stand_by();

    cell_options options_;
    alignas(HF_CACHE_LINE_BYTES) std::atomic<phase> phase_ = phase::warming_up;
    std::vector<own_count> counts_;          // by worker
    std::vector<own_count> bystander_turns_; // by worker
    alignas(HF_CACHE_LINE_BYTES) std::atomic<std::uint64_t> operations_ = 0;
    std::latch running_;
};

} // namespace holdfast::bench
