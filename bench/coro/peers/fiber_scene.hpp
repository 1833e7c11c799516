// SPDX-License-Identifier: MIT OR Apache-2.0
// What scene.hpp is for coroutines: fibers on a number of threads, how they are counted, measured and ended.
#pragma once

#include <atomic>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/operations.hpp>
#include <functional>
#include <mutex>
#include <vector>

#include "coro/cell.hpp"

namespace holdfast::bench {

// Boost's work-sharing scheduler, or what is around it.
template <class Algorithm>
void use_shared_work() {
    boost::fibers::use_scheduling_algorithm<Algorithm>(true);
}

class fiber_scene {
public:
    // `use_algorithm` is called on each thread.
    fiber_scene(const cell_options &options, void (*use_algorithm)())
        : options_(options), use_algorithm_(use_algorithm), counts_(options.workers) {}

    // Runs `task` in options.tasks fibers, with their numbers; measures; then runs `wake` in a fiber of its own, and
    // waits until all have ended. Each fiber calls ended() last.
    cell_result run(const std::function<void(unsigned)> &task, const std::function<void()> &wake = {});

    const cell_options &options() const noexcept { return options_; }
    bool over() const noexcept { return phase_.load(std::memory_order_acquire) == phase::over; }
    bool measuring() const noexcept { return phase_.load(std::memory_order_relaxed) == phase::measuring; }
    // Not inline: a fiber may have changed its thread since it was called last.
    static unsigned worker_here() noexcept;
    void count() noexcept {
        own_count &own = counts_[worker_here()];
        own.operations.store(own.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void ended(std::uint64_t operations);
    std::uint64_t operations() const noexcept { return operations_; }

private:
    enum class phase { warming_up, measuring, over };
    struct alignas(64) own_count { // written by one worker
        std::atomic<std::uint64_t> operations = 0;
        std::atomic<std::uint64_t> turns = 0;
    };
    struct totals {
        std::vector<double> operations;
        std::uint64_t turns = 0;
    };

    void work(unsigned number, const std::function<void(unsigned)> &task, const std::function<void()> &wake);
    void launch(const std::function<void(unsigned)> &task, const std::function<void()> &wake);
    void stand_by();
    totals counted() const;

    cell_options options_;
    void (*use_algorithm_)();
    alignas(64) std::atomic<phase> phase_ = phase::warming_up;
    std::vector<own_count> counts_;
    std::atomic<std::uint64_t> operations_ = 0;
    std::mutex lock_; // of what follows
    boost::fibers::condition_variable_any all_ended_;
    unsigned running_ = 0;
};

} // namespace holdfast::bench
