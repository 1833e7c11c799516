// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/thread_team.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <latch>
#include <memory>
#include <pthread.h>
#include <string>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "harness/migration_counter.hpp"
#include "harness/runnable_counter.hpp"

namespace holdfast::bench {
namespace {

// Little, so that ten thousand threads fit; the workloads need no more.
constexpr std::size_t stack_bytes = 256 * 1024;

struct team {
    team(unsigned threads, const thread_body &work)
        : body(work), tids(threads), ready(threads), phases(threads), results(threads) {}

    const thread_body &body;
    std::vector<pid_t> tids; // each its own, before it is ready
    std::latch ready;
    std::latch start{1};
    team_phase phases;
    std::vector<std::unique_ptr<thread_result>> results;
};

struct member {
    team *of;
    unsigned number;
};

void *run_member(void *argument) {
    auto [team, number] = *static_cast<member *>(argument);
    // Allocated by the thread that writes it, so that it comes from that thread's arena and NUMA node.
    auto result = std::make_unique<thread_result>();
    team->tids[number] = gettid();
    team->ready.count_down();
    team->start.wait();
    team->body(number, team->phases, *result);
    team->results[number] = std::move(result);
    return nullptr;
}

pthread_t start_thread(member &one, unsigned of) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, run_member, &one);
    pthread_attr_destroy(&attributes);
    if (error)
        throw std::system_error(error, std::generic_category(),
                                "can't start thread " + std::to_string(one.number + 1) + " of " + std::to_string(of) +
                                    " (use fewer threads, or raise the limit with 'ulimit -u')");
    return thread;
}

std::vector<double> cpu_s_of(const std::vector<pthread_t> &threads) {
    std::vector<double> all;
    for (pthread_t thread : threads) {
        clockid_t clock;
        timespec used{};
        if (pthread_getcpuclockid(thread, &clock) == 0)
            clock_gettime(clock, &used);
        all.push_back(static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec));
    }
    return all;
}

// Sleeps to a point in time rather than for a time, so that being woken late by busy CPUs is not added twice.
void sleep_until(std::uint64_t monotonic_ns) {
    timespec until{};
    until.tv_sec = static_cast<time_t>(monotonic_ns / 1'000'000'000u);
    until.tv_nsec = static_cast<long>(monotonic_ns % 1'000'000'000u);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR)
        continue;
}

// Often enough to see what a lock does, rarely enough to cost it nothing: below 1% of one CPU.
std::uint64_t sample_period_ns(std::uint64_t length_ns, std::size_t threads) {
    constexpr std::uint64_t samples_max = 50, for_each_ns = 500'000;
    return std::max({std::uint64_t{10'000'000}, length_ns / samples_max, threads * for_each_ns});
}

// Returns at the end of the measurement.
std::vector<cli::runnable_sample> watch(const runnable_counter &counter, std::uint64_t started_ns,
                                        std::uint64_t length_ns) {
    std::vector<cli::runnable_sample> samples;
    std::uint64_t period_ns = sample_period_ns(length_ns, counter.watched());
    for (std::uint64_t next_ns = period_ns; next_ns < length_ns && counter.watched() > 0;) {
        sleep_until(started_ns + next_ns);
        std::uint64_t at_ns = hf_monotonic_ns() - started_ns;
        std::uint64_t at_us = at_ns / 1000; // more digits would only lengthen the records
        samples.push_back({static_cast<double>(at_us) / 1000, counter.now()});
        next_ns = (at_ns / period_ns + 1) * period_ns; // what was missed is not made up for
    }
    sleep_until(started_ns + length_ns);
    return samples;
}

} // namespace

team_result run_team(unsigned threads, double seconds, const thread_body &body, cpu_time measured) {
    // Not destroyed when a thread can't be started: those that were started wait in it until the process ends.
    auto *all = new team(threads, body);
    auto *members = new std::vector<member>(threads);
    std::vector<pthread_t> ids(threads);
    for (unsigned i = 0; i < threads; i++) {
        (*members)[i] = {all, i};
        ids[i] = start_thread((*members)[i], threads);
    }

    all->ready.wait();
    runnable_counter counter(all->tids);
    all->start.count_down();
    all->phases.wait_until_warm(seconds);
    bool of_each = measured == cpu_time::of_each_thread;
    std::vector<double> each_before_s = cpu_s_of(of_each ? ids : std::vector<pthread_t>{});
    migration_counter moves(all->tids);
    process_use before = use_of_process();
    std::uint64_t started_ns = hf_monotonic_ns();
    all->phases.set(phase::measuring);
    auto samples = watch(counter, started_ns, static_cast<std::uint64_t>(seconds * 1e9));
    std::vector<double> each_after_s = cpu_s_of(of_each ? ids : std::vector<pthread_t>{});
    std::optional<double> migrations = moves.until_now();
    all->phases.set(phase::stopped);
    std::uint64_t stopped_ns = hf_monotonic_ns(); // what is counted until then was done in that time
    for (pthread_t id : ids)
        pthread_join(id, nullptr);

    team_result result;
    result.elapsed_s = 1e-9 * static_cast<double>(stopped_ns - started_ns);
    result.use = use_of_process().since(before);
    result.use.migrations = migrations;
    result.runnable = std::move(samples);
    for (const auto &one : all->results)
        result.threads.push_back(*one);
    result.has_cpu_of_each = of_each;
    for (std::size_t i = 0; i < each_after_s.size(); i++)
        result.threads[i].cpu_s = each_after_s[i] - each_before_s[i];
    delete members;
    delete all;
    return result;
}

} // namespace holdfast::bench
