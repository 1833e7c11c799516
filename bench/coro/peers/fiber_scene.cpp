// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/peers/fiber_scene.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <boost/fiber/operations.hpp>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "coro/prime_work.hpp"
#include "harness/migration_counter.hpp"
#include "measure/statistics.hpp"

namespace holdfast::bench {
namespace {

thread_local unsigned worker_number = 0;
constexpr std::size_t stack_bytes = 32 * 1024;

void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

template <class Function>
void start_fiber(Function function) {
    boost::fibers::fiber(boost::fibers::launch::post, std::allocator_arg, boost::fibers::fixedsize_stack(stack_bytes),
                         std::move(function))
        .detach();
}

} // namespace

[[gnu::noinline]] unsigned fiber_scene::worker_here() noexcept {
    unsigned number = worker_number;
    asm volatile("" : "+r"(number)); // has an effect, so that calls are not merged
    return number;
}

void fiber_scene::ended(std::uint64_t operations) {
    operations_.fetch_add(operations, std::memory_order_relaxed);
    std::unique_lock held(lock_);
    if (--running_ == 0) {
        held.unlock();
        all_ended_.notify_all();
    }
}

void fiber_scene::stand_by() {
    while (!over()) {
        spin_us(options_.bystander_us);
        own_count &own = counts_[worker_here()];
        own.turns.store(own.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        boost::this_fiber::yield();
    }
    ended(0);
}

void fiber_scene::launch(const std::function<void(unsigned)> &task, const std::function<void()> &wake) {
    for (unsigned i = 0; i < options_.bystanders; i++)
        start_fiber([this] { stand_by(); });
    for (unsigned i = 0; i < options_.tasks; i++)
        start_fiber([&task, i] { task(i); });
    if (wake)
        start_fiber([this, &wake] {
            while (!over())
                boost::this_fiber::sleep_for(std::chrono::milliseconds(5));
            wake();
            ended(0);
        });
}

void fiber_scene::work(unsigned number, const std::function<void(unsigned)> &task, const std::function<void()> &wake) {
    worker_number = number;
    use_algorithm_();
    if (number == 0)
        launch(task, wake);
    std::unique_lock held(lock_);
    all_ended_.wait(held, [&] { return running_ == 0; });
}

fiber_scene::totals fiber_scene::counted() const {
    totals now;
    for (const own_count &one : counts_) {
        now.operations.push_back(double(one.operations.load(std::memory_order_relaxed)));
        now.turns += one.turns.load(std::memory_order_relaxed);
    }
    return now;
}

cell_result fiber_scene::run(const std::function<void(unsigned)> &task, const std::function<void()> &wake) {
    running_ = options_.tasks + options_.bystanders + (wake ? 1 : 0);
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < options_.workers; i++)
        workers.emplace_back([&, i] { work(i, task, wake); });
    sleep_for(options_.seconds / 3);

    totals before = counted();
    migration_counter moves(threads_of_process());
    process_use use_before = use_of_process();
    std::uint64_t began_ns = hf_monotonic_ns();
    phase_.store(phase::measuring, std::memory_order_relaxed);
    sleep_for(options_.seconds);
    totals after = counted();
    cell_result result;
    result.elapsed_s = 1e-9 * double(hf_monotonic_ns() - began_ns);
    result.use = use_of_process().since(use_before);
    result.use.migrations = moves.until_now();
    result.bystander_turns = after.turns - before.turns;
    phase_.store(phase::over, std::memory_order_release); // pairs with over()
    for (std::thread &one : workers)
        one.join();

    for (std::size_t i = 0; i < after.operations.size(); i++) {
        after.operations[i] -= before.operations[i];
        result.operations += std::uint64_t(after.operations[i]);
    }
    if (options_.workers > 1)
        result.burden_jain = cli::jain_index(after.operations);
    return result;
}

} // namespace holdfast::bench
