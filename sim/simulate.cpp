// SPDX-License-Identifier: MIT OR Apache-2.0
// libexec/holdfast/simulate: one cell, as a workload's program measures one. `holdfast simulate` runs it for many.
#include <CLI/CLI.hpp>
#include <chrono>
#include <ctime>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <memory>

#include "base/pause.h"
#include "engine/machine.hpp"
#include "engine/simulation.hpp"
#include "engine/trace.hpp"
#include "measure/result_record.hpp"
#include "measure/statistics.hpp"
#include "workloads/workload.hpp"

namespace {

using namespace holdfast;

constexpr int exit_usage = 2;

struct options {
    sim::workload_settings settings;
    std::string lock = "default", machine, trace;
    std::vector<std::string> changes;
    double seconds = 0.02;
    unsigned background = 0;
    int background_nice = 0;
    std::uint64_t seed = 1;
    bool no_monitor = false, verbose = false, describe = false, list = false;
};

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

cli::result_record make_record(const options &told, const sim::measurement &figures) {
    cli::result_record record;
    record.workload = told.settings.workload;
    record.lock = told.settings.lock->name;
    record.threads = told.settings.threads;
    record.measured_s = figures.seconds();
    record.background = told.background;
    if (told.settings.between_us >= 0)
        record.between_us = told.settings.between_us;
    if (told.settings.section_us >= 0)
        record.section_us = told.settings.section_us;
    if (told.settings.work_us >= 0)
        record.arguments = fmt::format("--work-us {}", told.settings.work_us);
    bench::histogram wait_ns;
    double waiting_ns = 0; // the longest wait that has not ended
    std::vector<double> operations, held;
    double sum = 0, held_sum = 0;
    for (const auto &one : figures.threads()) {
        wait_ns.merge(one.wait_ns);
        if (one.asked_ns != 0 && one.asked_ns < figures.end_ns()) // a CPU's clock may be past the end
            waiting_ns = std::max(waiting_ns, static_cast<double>(figures.end_ns() - one.asked_ns));
        operations.push_back(static_cast<double>(one.operations));
        held.push_back(static_cast<double>(one.held_ns));
        sum += operations.back();
        held_sum += held.back();
    }
    record.ops_per_s = sum / figures.seconds();
    record.fairness_factor = cli::fairness_factor(operations);
    record.jain_ops = cli::jain_index(operations);
    if (held_sum > 0)
        record.jain_hold = cli::jain_index(held);
    if (wait_ns.count() > 0) {
        record.wait_mean_ns = wait_ns.mean();
        record.wait_p50_ns = static_cast<double>(wait_ns.quantile(0.5));
        record.wait_p99_ns = static_cast<double>(wait_ns.quantile(0.99));
        record.wait_p999_ns = static_cast<double>(wait_ns.quantile(0.999));
        record.wait_max_ns = std::max(waiting_ns, static_cast<double>(wait_ns.max()));
        wait_ns.visit_buckets(
            [&](std::uint64_t ns, std::uint64_t count) { record.wait_counts.add(static_cast<double>(ns), count); });
    }
    return record;
}

void say_counts(const sim::simulation &run, const cli::result_record &record, double host_s) {
    const auto &n = run.counted();
    fmt::print(
        stderr,
        "{} {} threads: {:.3f} Mops/s p99 {:.2f} us max {:.1f} us jain {:.3f}; host {:.2f} s, {:.0f} ops/s\n"
        "  switches {} preemptions {} critical {}+{} storms {} wakes {} of nobody {} sleeps {} refused {} naps {} "
        "fences {} migrations {} misses {} accesses {} disturbances {} throttled {}\n",
        record.lock, record.threads, *record.ops_per_s * 1e-6, record.wait_p99_ns.value_or(0) / 1e3,
        record.wait_max_ns.value_or(0) / 1e3, record.jain_ops.value_or(0), host_s,
        *record.ops_per_s * *record.measured_s / host_s, n.switches, n.preemptions, n.critical_preemptions,
        n.critical_sleeps, n.storms, n.wakes, n.wakes_of_nobody, n.sleeps, n.sleeps_refused, n.short_sleeps, n.fences,
        n.migrations, n.misses, n.accesses, n.disturbances, n.throttled);
}

// All that a cell's figures follow from, apart from the code.
void describe(const sim::machine &machine) {
    cli::json numbers;
    for (const auto &one : sim::machine_numbers())
        numbers[one.name] = machine.*one.member;
    fmt::print("{}\n",
               cli::json{{"machine", machine.name}, {"described", machine.described()}, {"numbers", numbers}}.dump());
}

int simulate(options &told) {
    if (told.list) {
        std::vector<std::string> names;
        for (const auto &one : sim::simulated_workloads())
            names.emplace_back(one.name);
        fmt::print("{}\n", fmt::join(names, ", "));
        return 0;
    }
    sim::machine machine = sim::read_machine(told.machine);
    for (const auto &change : told.changes)
        sim::change_machine(machine, change);
    told.settings.lock = &sim::find_lock(told.lock);
    const sim::simulated_workload &workload = sim::find_simulated_workload(told.settings.workload);
    if (told.describe) {
        describe(machine);
        return 0;
    }
    sim::simulation run(machine, told.seed);
    if (told.no_monitor)
        run.without_monitor();
    hf_pauses_a_timed_pause = hf_pauses_in_a_timed_pause(64, static_cast<std::uint64_t>(64 * machine.pause_ns));
    std::unique_ptr<sim::trace> trace;
    if (!told.trace.empty()) {
        trace = std::make_unique<sim::trace>(told.trace);
        run.record(trace.get());
    }
    sim::measurement figures(run, told.settings.threads, told.seconds);
    workload.add_threads(run, figures, told.settings);
    for (unsigned i = 0; i < told.background; i++) {
        run.add_thread(
            [&run](int) {
                for (;;)
                    run.compute(1e9);
            },
            true, told.background_nice);
    }
    double before_s = cpu_seconds();
    sim::outcome ended = run.run(figures.until());
    double host_s = cpu_seconds() - before_s;
    if (ended != sim::outcome::time_is_over) {
        fmt::print(stderr, "simulate: {}\n",
                   ended == sim::outcome::stuck ? "all threads sleep, and nobody will wake them" : run.why_stopped());
        return 1;
    }
    cli::result_record record = make_record(told, figures);
    record.cpu_s = host_s;
    cli::json written = record;
    written["simulated"] = {{"machine", machine.described()}, {"seed", told.seed}};
    if (told.verbose)
        say_counts(run, record, host_s);
    else
        fmt::print("{}\n", written.dump());
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    options told;
    CLI::App app{"One cell of a workload on a simulated machine: prints its record.", "simulate"};
    app.add_option("--workload", told.settings.workload, "Which workload")->capture_default_str();
    app.add_option("--lock", told.lock, fmt::format("One of {}", fmt::join(sim::lock_names(), ", ")));
    app.add_option("--threads", told.settings.threads, "Number of threads")->capture_default_str();
    app.add_option("--seconds", told.seconds, "Virtual seconds that are measured")->capture_default_str();
    app.add_option("--machine", told.machine, "The machine's file");
    app.add_flag("--list", told.list, "Prints the names of the workloads");
    app.add_option("--set", told.changes, "NAME=VALUE or NAME*FACTOR: changes a number of the machine");
    app.add_option("--seed", told.seed, "Of all chance")->capture_default_str();
    app.add_option("--section-us", told.settings.section_us, "Microseconds of a critical section");
    app.add_option("--between-us", told.settings.between_us, "Microseconds from a release to the next request");
    app.add_option("--work-us", told.settings.work_us, "Microseconds of a piece of work outside of all locks");
    app.add_option("--background", told.background, "Busy threads of another process");
    app.add_option("--background-nice", told.background_nice, "Their nice value")->check(CLI::Range(-20, 19));
    app.add_option("--trace", told.trace, "Writes what happens, for Perfetto");
    app.add_flag("--no-monitor", told.no_monitor, "Locks are told that no monitor runs");
    app.add_flag("--describe", told.describe, "Says what would be simulated, and all numbers of the machine");
    app.add_flag("--verbose", told.verbose, "Counts in place of the record");
    CLI11_PARSE(app, argc, argv);
    try {
        return simulate(told);
    } catch (const std::invalid_argument &error) {
        fmt::print(stderr, "{}\n", error.what());
        return exit_usage;
    } catch (const std::exception &error) {
        fmt::print(stderr, "simulate: {}\n", error.what());
        return 1;
    }
}
