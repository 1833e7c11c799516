// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/scene.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "coro/prime_work.hpp"
#include "harness/migration_counter.hpp"
#include "holdfast/coro/spawn.hpp"
#include "measure/statistics.hpp"

namespace holdfast::bench {
namespace {

void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::uint64_t sum_of(const std::vector<std::uint64_t> &values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

} // namespace

scene::scene(const cell_options &options)
    : options_(options), counts_(options.workers), bystander_turns_(options.workers),
      running_(std::ptrdiff_t(options.tasks) + std::ptrdiff_t(options.bystanders)) {}

std::vector<std::uint64_t> scene::counted(const std::vector<own_count> &counts) const {
    std::vector<std::uint64_t> values;
    for (const own_count &one : counts)
        values.push_back(one.value.load(std::memory_order_relaxed));
    return values;
}

coro::task<> scene::stand_by() {
    while (!over()) {
        spin_us(options_.bystander_us);
        bystander_turns_[worker_here()].add();
        co_await coro::yield();
    }
    ended(0);
}

cell_result scene::run(const std::function<void(coro::pool &)> &spawn_all, const std::function<void()> &wake) {
    coro::pool pool(coro::pool_options{options_.workers, options_.chain_max, options_.turns != 0});
    for (unsigned i = 0; i < options_.bystanders; i++)
        coro::spawn(pool, stand_by());
    spawn_all(pool);
    sleep_for(options_.seconds / 3);

    std::vector<std::uint64_t> before = counted(counts_);
    std::uint64_t turns_before = sum_of(counted(bystander_turns_));
    migration_counter moves(threads_of_process());
    process_use use_before = use_of_process();
    std::uint64_t began_ns = hf_monotonic_ns();
    phase_.store(phase::measuring, std::memory_order_relaxed);
    sleep_for(options_.seconds);
    std::vector<std::uint64_t> after = counted(counts_);
    cell_result result;
    result.elapsed_s = 1e-9 * double(hf_monotonic_ns() - began_ns);
    result.use = use_of_process().since(use_before);
    result.use.migrations = moves.until_now();
    result.bystander_turns = sum_of(counted(bystander_turns_)) - turns_before;
    phase_.store(phase::over, std::memory_order_release); // pairs with over()
    if (wake)
        wake();
    running_.wait();

    std::vector<double> burden;
    for (std::size_t i = 0; i < after.size(); i++) {
        result.operations += after[i] - before[i];
        burden.push_back(double(after[i] - before[i]));
    }
    if (options_.workers > 1)
        result.burden_jain = cli::jain_index(burden);
    return result;
}

} // namespace holdfast::bench
