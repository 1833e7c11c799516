// SPDX-License-Identifier: MIT OR Apache-2.0
// coro-mutex and coro-queuing-delay in fibers, with any mutex that has the interface of Boost's.
#pragma once

#include <fmt/core.h>
#include <memory>
#include <vector>

#include "coro/guarded_primes.hpp"
#include "coro/peers/fiber_scene.hpp"
#include "coro/prime_work.hpp"
#include "harness/command_line.hpp"

namespace holdfast::bench {

template <class Mutex>
struct alignas(128) fiber_resource {
    Mutex mutex;
    alignas(64) guarded_primes primes;
};

template <class Mutex>
void lock_and_unlock(fiber_resource<Mutex> &of, fiber_scene &at, bool delays, unsigned seed) {
    std::uint64_t done = 0;
    while (!at.over()) {
        unsigned prime = random_prime(seed);
        std::uint64_t requested = delays ? hf_ticks() : 0;
        of.mutex.lock();
        of.primes.insert(prime, at.options().section_us, fiber_scene::worker_here(), requested, at.measuring());
        at.count();
        of.mutex.unlock();
        factor(prime);
        done++;
    }
    at.ended(done);
}

template <class Mutex>
cell_result measure_fiber_mutex(fiber_scene &at) {
    const cell_options &options = at.options();
    std::vector<std::unique_ptr<fiber_resource<Mutex>>> resources;
    for (unsigned i = 0; i < options.resources; i++)
        resources.push_back(std::make_unique<fiber_resource<Mutex>>());
    bool delays = options.workload == "coro-queuing-delay";
    cell_result result = at.run(
        [&](unsigned task) { lock_and_unlock(*resources[task % options.resources], at, delays, seed_of(task)); });
    std::uint64_t entries = 0, sections = 0, on_same_worker = 0;
    for (const auto &one : resources) {
        entries += one->primes.entries();
        sections += one->primes.sections();
        on_same_worker += one->primes.on_same_worker();
        result.delay_ticks.merge(one->primes.delay_ticks());
    }
    if (entries != at.operations())
        throw result_wrong(fmt::format("there are {} entries after {} operations", entries, at.operations()));
    if (options.workers > 1 && sections > 0)
        result.same_worker = double(on_same_worker) / double(sections);
    return result;
}

} // namespace holdfast::bench
