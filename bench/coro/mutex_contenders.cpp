// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/mutex_contenders.hpp"

#include <deque>
#include <fmt/core.h>

#include "coro/barging_mutex.hpp"
#include "coro/guarded_primes.hpp"
#include "coro/prime_work.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/spawn.hpp"

namespace holdfast::bench {
namespace {

using coro::task;

// A lock with what it protects, on lines of its own.
template <class Mutex>
struct alignas(2 * HF_CACHE_LINE_BYTES) resource {
    explicit resource(const cell_options &options)
        requires std::is_constructible_v<Mutex, coro::mutex_options>
        : mutex(coro::mutex_options{options.spins}) {}
    explicit resource(const cell_options &) {}

    Mutex mutex;
    alignas(HF_CACHE_LINE_BYTES) guarded_primes primes;
};

// One task's loop. `locked` is an awaitable of its own for each kind of lock: runs the function while it has the lock.
template <class Mutex>
struct loop {
    resource<Mutex> &of;
    scene &at;
    bool delays;
    unsigned seed;
    std::uint64_t done = 0;

    bool goes_on() const noexcept { return !at.over(); }
    std::uint64_t request() const noexcept { return delays ? hf_ticks() : 0; }
    void section(unsigned prime, std::uint64_t requested) {
        of.primes.insert(prime, at.options().section_us, scene::worker_here(), requested, at.measuring());
        at.count();
    }
    void after(unsigned prime) {
        factor(prime);
        done++;
    }
    void end() const noexcept { at.ended(done); }
};

// How each kind of lock is used: a coroutine that works until the end.
template <class Mutex>
task<> lock_and_unlock(loop<Mutex> own) {
    while (own.goes_on()) {
        unsigned prime = random_prime(own.seed);
        std::uint64_t requested = own.request();
        co_await own.of.mutex.lock();
        own.section(prime, requested);
        co_await own.of.mutex.unlock();
        own.after(prime);
    }
    own.end();
}

task<> run_with(loop<coro::mutex> own) {
    while (own.goes_on()) {
        unsigned prime = random_prime(own.seed);
        std::uint64_t requested = own.request();
        co_await own.of.mutex.with([&] { own.section(prime, requested); });
        own.after(prime);
    }
    own.end();
}

task<> barge(loop<barging_mutex> own) {
    while (own.goes_on()) {
        unsigned prime = random_prime(own.seed);
        std::uint64_t requested = own.request();
        while (!own.of.mutex.try_lock())
            co_await own.of.mutex.changed();
        own.section(prime, requested);
        own.of.mutex.unlock();
        own.after(prime);
    }
    own.end();
}

template <class Mutex>
cell_result measure(const cell_options &options, task<> (*work)(loop<Mutex>)) {
    scene at(options);
    std::deque<resource<Mutex>> resources;
    for (unsigned i = 0; i < options.resources; i++)
        resources.emplace_back(options);
    bool delays = options.workload == "coro-queuing-delay";
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, work({resources[i % options.resources], at, delays, seed_of(i)}));
    });
    std::uint64_t entries = 0, sections = 0, on_same_worker = 0;
    for (const auto &one : resources) {
        entries += one.primes.entries();
        sections += one.primes.sections();
        on_same_worker += one.primes.on_same_worker();
        result.delay_ticks.merge(one.primes.delay_ticks());
    }
    if (entries != at.operations())
        throw result_wrong(fmt::format("there are {} entries after {} operations: two tasks were inside at once",
                                       entries, at.operations()));
    if (options.workers > 1 && sections > 0)
        result.same_worker = double(on_same_worker) / double(sections);
    return result;
}

struct alignas(2 * HF_CACHE_LINE_BYTES) own_primes {
    guarded_primes primes;
};

task<> count_alone(std::deque<own_primes> &of_workers, scene &at, unsigned seed) {
    std::uint64_t done = 0;
    for (; !at.over(); done++) {
        unsigned prime = random_prime(seed), worker = scene::worker_here();
        of_workers[worker].primes.insert(prime, at.options().section_us, worker, 0, at.measuring());
        at.count();
        factor(prime);
    }
    at.ended(done);
    co_return;
}

cell_result measure_unlocked(const cell_options &options) {
    scene at(options);
    std::deque<own_primes> of_workers(options.workers);
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, count_alone(of_workers, at, seed_of(i)));
    });
    std::uint64_t entries = 0;
    for (const own_primes &one : of_workers)
        entries += one.primes.entries();
    if (entries != at.operations())
        throw result_wrong(fmt::format("there are {} entries after {} operations", entries, at.operations()));
    return result;
}

template <class Mutex>
cell_result measure_lock(const cell_options &options) {
    return measure<Mutex>(options, lock_and_unlock<Mutex>);
}

} // namespace

std::vector<contender> mutex_contenders() {
    return {{"ces", measure_lock<coro::mutex>},
            {"with", [](const cell_options &options) { return measure<coro::mutex>(options, run_with); }},
            {"dispatch", measure_lock<coro::dispatch_mutex>},
            {"inline", measure_lock<coro::inline_mutex>},
            {"barging", [](const cell_options &options) { return measure<barging_mutex>(options, barge); }}};
}

contender unlocked_contender() {
    return {"unlocked", measure_unlocked};
}

} // namespace holdfast::bench
