// SPDX-License-Identifier: MIT OR Apache-2.0
// What the CES paper's Figure 8 measures: thousands of tasks that find a random prime, put it into a map under one
// lock, and factor it; beside them, if asked for, bystanders that want no lock. Contenders take turns in one process; a
// line for each, with medians, and the ratio to dispatch within the round. docs/coroutines.md reads the figures.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <map>
#include <thread>

#include "barging_mutex.hpp"
#include "base/clock.h"
#include "base/cpu.h"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast;
using coro::task;

struct settings {
    unsigned workers = 2;
    unsigned tasks = 5000;
    unsigned section_ns = 0;
    unsigned bystanders = 0;
    unsigned bystander_us = 5;
    double seconds = 0.3;
};

// What all tasks of a cell share.
struct scene {
    settings chosen;
    std::atomic<bool> stop = false;
    std::atomic<unsigned> running = 0;
    std::atomic<std::uint64_t> operations = 0;
    std::atomic<std::uint64_t> bystander_turns = 0;
    std::map<unsigned, unsigned> primes; // under the lock, as is the next
    std::vector<std::uint64_t> sections; // by worker
};

struct cell {
    double ops_per_s = 0;
    double bystander_turns_per_s = 0;
    double burden_jain = 0;
};

void spin_ns(std::uint64_t ns) {
    std::uint64_t until = hf_monotonic_ns() + ns;
    while (hf_monotonic_ns() < until)
        hf_pause();
}

bool is_prime(unsigned odd) {
    for (unsigned divisor = 3; divisor * divisor <= odd; divisor += 2)
        if (odd % divisor == 0)
            return false;
    return true;
}

unsigned random_prime(unsigned &seed) {
    seed = seed * 1664525u + 1013904223u; // Knuth's and Lewis's generator
    unsigned candidate = (1000 + (seed >> 22)) | 1;
    while (!is_prime(candidate))
        candidate += 2;
    return candidate;
}

// All divisors up to a quarter are tried: some 0.8 us, as long as the rest of a loop.
unsigned largest_factor(unsigned number) {
    unsigned last = number;
    for (unsigned divisor = 2; divisor <= number / 4; divisor++)
        if (number % divisor == 0)
            last = divisor;
    return last;
}

void section(scene &at, unsigned prime) {
    at.primes[prime]++;
    at.sections[coro::current_context()->worker]++;
    if (at.chosen.section_ns > 0)
        spin_ns(at.chosen.section_ns);
}

// How each kind of lock is used: a coroutine that works until the stop.
template <class Mutex>
task<> lock_and_unlock(Mutex &mutex, scene &at, unsigned seed) {
    std::uint64_t done = 0;
    while (!at.stop.load(std::memory_order_relaxed)) {
        unsigned prime = random_prime(seed);
        co_await mutex.lock();
        section(at, prime);
        co_await mutex.unlock();
        volatile unsigned factor = largest_factor(prime);
        static_cast<void>(factor);
        done++;
    }
    at.operations += done;
    at.running--;
}

task<> run_with(coro::mutex &mutex, scene &at, unsigned seed) {
    std::uint64_t done = 0;
    while (!at.stop.load(std::memory_order_relaxed)) {
        unsigned prime = random_prime(seed);
        co_await mutex.with([&] { section(at, prime); });
        volatile unsigned factor = largest_factor(prime);
        static_cast<void>(factor);
        done++;
    }
    at.operations += done;
    at.running--;
}

task<> barge(bench::barging_mutex &mutex, scene &at, unsigned seed) {
    std::uint64_t done = 0;
    while (!at.stop.load(std::memory_order_relaxed)) {
        unsigned prime = random_prime(seed);
        while (!mutex.try_lock())
            co_await mutex.changed();
        section(at, prime);
        mutex.unlock();
        volatile unsigned factor = largest_factor(prime);
        static_cast<void>(factor);
        done++;
    }
    at.operations += done;
    at.running--;
}

task<> stand_by(scene &at) {
    std::uint64_t turns = 0;
    while (!at.stop.load(std::memory_order_relaxed)) {
        spin_ns(1000ull * at.chosen.bystander_us);
        turns++;
        co_await coro::yield();
    }
    at.bystander_turns += turns;
    at.running--;
}

double jain(const std::vector<std::uint64_t> &values) {
    double sum = 0, squares = 0;
    for (std::uint64_t value : values) {
        sum += double(value);
        squares += double(value) * double(value);
    }
    return squares > 0 ? sum * sum / (double(values.size()) * squares) : 1;
}

template <class Mutex, class Work>
cell measure(const settings &chosen, unsigned chain_max, Mutex &mutex, Work work) {
    scene at;
    at.chosen = chosen;
    at.sections.resize(chosen.workers);
    coro::pool pool(coro::pool_options{chosen.workers, chain_max});
    at.running = chosen.tasks + chosen.bystanders;
    std::uint64_t began = hf_monotonic_ns();
    for (unsigned i = 0; i < chosen.bystanders; i++)
        coro::spawn(pool, stand_by(at));
    for (unsigned i = 0; i < chosen.tasks; i++)
        coro::spawn(pool, work(mutex, at, 7919 * i));
    std::this_thread::sleep_for(std::chrono::duration<double>(chosen.seconds));
    at.stop = true;
    double elapsed_s = double(hf_monotonic_ns() - began) / 1e9;
    while (at.running > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::uint64_t stored = 0;
    for (auto [prime, times] : at.primes)
        stored += times;
    if (stored != at.operations) {
        fmt::print(stderr, "coro-locks: the map has {} entries after {} operations: two were inside at once\n", stored,
                   at.operations.load());
        std::exit(1);
    }
    return {double(at.operations) / elapsed_s, double(at.bystander_turns) / elapsed_s, jain(at.sections)};
}

struct contender {
    const char *name;
    cell (*run)(const settings &);
};

template <class Mutex>
cell measure_lock(const settings &chosen, coro::mutex_options options, unsigned chain_max) {
    Mutex mutex(options);
    return measure(chosen, chain_max, mutex, lock_and_unlock<Mutex>);
}

const contender contenders[] = {
    {"ces", [](const settings &s) { return measure_lock<coro::mutex>(s, {}, coro::chain_default); }},
    {"ces, no spin", [](const settings &s) { return measure_lock<coro::mutex>(s, {0}, coro::chain_default); }},
    {"ces, no bound", [](const settings &s) { return measure_lock<coro::mutex>(s, {}, 1u << 31); }},
    {"with",
     [](const settings &s) {
         coro::mutex mutex;
         return measure(s, coro::chain_default, mutex, run_with);
     }},
    {"barging",
     [](const settings &s) {
         bench::barging_mutex mutex;
         return measure(s, coro::chain_default, mutex, barge);
     }},
    {"inline", [](const settings &s) { return measure_lock<coro::inline_mutex>(s, {}, coro::chain_default); }},
    {"dispatch", [](const settings &s) { return measure_lock<coro::dispatch_mutex>(s, {}, coro::chain_default); }},
};
constexpr std::size_t contender_count = std::size(contenders);

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void run(const settings &chosen, unsigned rounds) {
    std::vector<std::vector<cell>> cells(contender_count);
    for (unsigned round = 0; round < rounds; round++)
        for (std::size_t i = 0; i < contender_count; i++) { // each round begins with another one
            std::size_t turn = (i + round) % contender_count;
            cells[turn].push_back(contenders[turn].run(chosen));
        }
    fmt::print("{} workers, {} tasks, section {} ns, {} bystanders of {} us; medians of {} rounds\n", chosen.workers,
               chosen.tasks, chosen.section_ns, chosen.bystanders, chosen.bystander_us, rounds);
    fmt::print("{:<14} {:>10} {:>12} {:>14} {:>18}\n", "lock", "loops/us", "to dispatch", "burden, Jain",
               "bystanders/ms");
    for (std::size_t i = 0; i < contender_count; i++) {
        std::vector<double> rate, ratio, burden, turns;
        for (unsigned round = 0; round < rounds; round++) {
            const cell &one = cells[i][round];
            rate.push_back(one.ops_per_s / 1e6);
            ratio.push_back(one.ops_per_s / std::max(cells[contender_count - 1][round].ops_per_s, 1.0));
            burden.push_back(one.burden_jain);
            turns.push_back(one.bystander_turns_per_s / 1e3);
        }
        fmt::print("{:<14} {:>10.3f} {:>11.2f}x {:>14.2f} {:>18.1f}\n", contenders[i].name, median(rate), median(ratio),
                   median(burden), median(turns));
    }
    fmt::print("\n");
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app{"Coroutine locks under the load of the CES paper's Figure 8", "coro-locks"};
    settings chosen;
    unsigned rounds = 3;
    std::vector<unsigned> workers{1, 2, 4, 8};
    app.add_option("--workers", workers, "Numbers of workers")->delimiter(',')->capture_default_str();
    app.add_option("--tasks", chosen.tasks, "Tasks that lock")->capture_default_str();
    app.add_option("--section-ns", chosen.section_ns, "Added to the critical section")->capture_default_str();
    app.add_option("--bystanders", chosen.bystanders, "Tasks that do not lock")->capture_default_str();
    app.add_option("--bystander-us", chosen.bystander_us, "How long each of their turns is")->capture_default_str();
    app.add_option("--seconds", chosen.seconds, "How long a cell is measured")->capture_default_str();
    app.add_option("--rounds", rounds, "How often each cell is measured")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    for (unsigned count : workers) {
        chosen.workers = count > 0 ? count : 1;
        run(chosen, rounds > 0 ? rounds : 1);
    }
    return 0;
}
