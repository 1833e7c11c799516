// SPDX-License-Identifier: MIT OR Apache-2.0
// On which worker sections run (CES paper, 5.4). Tasks take any of a few locks. By turns they do little besides, so
// that each lock is wanted all the time, and work for long outside, so that nobody waits: "contended" and "calm". A
// lock that is contended should keep its sections on one worker, with their data; in the calm they should run where
// their tasks do.
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <fmt/core.h>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "coro/cell_main.hpp"
#include "coro/prime_work.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;
using coro::task;

constexpr double calm_us = 50;       // of a task's work outside its sections, in the calm
constexpr int parts = 10;            // of a measurement, by turns contended and calm
constexpr double settle_share = 0.3; // of a part: until those who came to a contended lock have gone, nothing is noted

enum class weather : unsigned { contended, calm, changing };

// What a lock protects.
class residence {
public:
    void visit(unsigned worker, weather now) noexcept {
        visits_++;
        bool here = std::exchange(worker_before_, worker) == worker;
        if (now == weather::changing)
            return;
        noted_[unsigned(now)]++;
        on_same_worker_[unsigned(now)] += here;
    }
    std::uint64_t visits() const noexcept { return visits_; }
    std::uint64_t noted(weather in) const noexcept { return noted_[unsigned(in)]; }
    std::uint64_t on_same_worker(weather in) const noexcept { return on_same_worker_[unsigned(in)]; }

private:
    std::uint64_t visits_ = 0;
    std::array<std::uint64_t, 2> noted_{}, on_same_worker_{};
    unsigned worker_before_ = ~0u;
};

template <class Mutex>
struct alignas(2 * HF_CACHE_LINE_BYTES) resource {
    Mutex mutex;
    residence visits;
};

template <class Mutex>
struct place {
    explicit place(const cell_options &options) : at(options), resources(options.resources) {}

    scene at;
    std::deque<resource<Mutex>> resources;
    std::atomic<weather> now = weather::contended; // how much tasks do outside
    std::atomic<weather> noted = weather::changing;

    resource<Mutex> &any(unsigned prime) { return resources[prime / 2 % resources.size()]; }
    void section(residence &of) {
        spin_us(at.options().section_us);
        of.visit(scene::worker_here(), at.measuring() ? noted.load(std::memory_order_relaxed) : weather::changing);
        at.count();
    }
    void outside(unsigned prime) {
        if (now.load(std::memory_order_relaxed) == weather::calm)
            spin_us(calm_us);
        else
            factor(prime);
    }

    void change(const std::stop_token &stop) {
        auto part = std::chrono::duration<double>(at.options().seconds / parts);
        for (weather next = weather::contended; !stop.stop_requested();
             next = next == weather::calm ? weather::contended : weather::calm) {
            noted.store(weather::changing, std::memory_order_relaxed);
            now.store(next, std::memory_order_relaxed);
            std::this_thread::sleep_for(part * settle_share);
            noted.store(next, std::memory_order_relaxed);
            std::this_thread::sleep_for(part * (1 - settle_share));
        }
    }
};

template <class Mutex>
task<> lock_and_unlock(place<Mutex> &of, unsigned seed) {
    std::uint64_t done = 0;
    for (; !of.at.over(); done++) {
        unsigned prime = random_prime(seed);
        resource<Mutex> &one = of.any(prime);
        co_await one.mutex.lock();
        of.section(one.visits);
        co_await one.mutex.unlock();
        of.outside(prime);
    }
    of.at.ended(done);
}

task<> run_with(place<coro::mutex> &of, unsigned seed) {
    std::uint64_t done = 0;
    for (; !of.at.over(); done++) {
        unsigned prime = random_prime(seed);
        resource<coro::mutex> &one = of.any(prime);
        co_await one.mutex.with([&] { of.section(one.visits); });
        of.outside(prime);
    }
    of.at.ended(done);
}

template <class Mutex>
std::optional<double> share_on_same_worker(const place<Mutex> &of, weather in) {
    std::uint64_t noted = 0, on_same_worker = 0;
    for (const auto &one : of.resources) {
        noted += one.visits.noted(in);
        on_same_worker += one.visits.on_same_worker(in);
    }
    return noted > 0 ? std::optional(double(on_same_worker) / double(noted)) : std::nullopt;
}

template <class Mutex>
cell_result measure(const cell_options &options, task<> (*work)(place<Mutex> &, unsigned)) {
    place<Mutex> here(options);
    std::jthread changing([&](const std::stop_token &stop) { here.change(stop); });
    cell_result result = here.at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, work(here, seed_of(i)));
    });
    std::uint64_t visits = 0;
    for (const auto &one : here.resources)
        visits += one.visits.visits();
    if (visits != here.at.operations())
        throw result_wrong(
            fmt::format("{} visits are noted after {}: two tasks were inside at once", visits, here.at.operations()));
    if (options.workers > 1) {
        result.same_worker = share_on_same_worker(here, weather::contended);
        result.same_worker_calm = share_on_same_worker(here, weather::calm);
    }
    return result;
}

template <class Mutex>
cell_result measure_lock(const cell_options &options) {
    return measure<Mutex>(options, lock_and_unlock<Mutex>);
}

} // namespace

int main(int argc, char **argv) {
    cell_options defaults;
    defaults.tasks = 1000;
    defaults.resources = 4;
    defaults.section_us = 2;
    return coro_workload_main(
        argc, argv, "coro-locality",
        {{"ces", measure_lock<coro::mutex>},
         {"with", [](const cell_options &options) { return measure<coro::mutex>(options, run_with); }},
         {"dispatch", measure_lock<coro::dispatch_mutex>},
         {"inline", measure_lock<coro::inline_mutex>}},
        defaults);
}
