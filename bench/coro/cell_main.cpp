// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/cell_main.hpp"

#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <functional>
#include <unistd.h>

#include "base/clock.h"
#include "harness/command_line.hpp"
#include "measure/result_record.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

// With `lock` in front, which each main() has of its own.
command_line line_of(const std::string &name, const std::string &summary, option lock, cell_options &options) {
    return {
        .name = name,
        .summary = summary,
        .options =
            {
                std::move(lock),
                {"--threads", options.workers, 1, cli::threads_max, "Number of workers"},
                seconds_option(options.seconds),
                {"--tasks", options.tasks, 2, 10'000'000, "Tasks that lock"},
                {"--section-us", options.section_us, 0, 1e6, "Microseconds added to each critical section"},
                {"--bystanders", options.bystanders, 0, 100'000, "Tasks that take no lock"},
                {"--bystander-us", options.bystander_us, 0.1, 1e6, "Microseconds of each of their turns"},
                {"--writers", options.writers, 0, 100, "Percent of writers, of coro-rwlock"},
                {"--resources", options.resources, 1, 1000, "Number of locks, of coro-mutex and coro-locality"},
                {"--cached-rows", options.cached_rows, 1, 1'000'000,
                 "Rows that are kept under the lock, of coro-leveldb"},
                {"--spins", options.spins, 0, 1'000'000'000, "Polls of a held mutex, of ces and with"},
                {"--turns", options.turns, 0, 1, "0: a task that never has to wait is never suspended; of ours"},
                {"--chain-max", options.chain_max, 0, 1'000'000'000, "Hand-overs in a row, of ces and with"},
            },
    };
}

// Of the CPU time that the process had, over the share of it that tasks would have if all got the same.
double bystander_share(const cell_options &options, const cell_result &result) {
    double had_s = double(result.bystander_turns) * options.bystander_us * 1e-6;
    double fair = double(options.bystanders) / (double(options.bystanders) + double(options.tasks));
    return result.use.cpu_s > 0 ? had_s / (result.use.cpu_s * fair) : 0;
}

cli::json record_of(const cell_options &options, const cell_result &result) {
    cli::result_record record;
    record.workload = options.workload;
    record.lock = options.lock;
    record.threads = options.workers;
    record.ops_per_s = double(result.operations) / result.elapsed_s;
    record.cpu_s = result.use.cpu_s;
    record.context_switches = result.use.context_switches;
    record.migrations = result.use.migrations;
    record.burden_jain = result.burden_jain;
    record.same_worker = result.same_worker;
    record.same_worker_calm = result.same_worker_calm;
    if (options.bystanders > 0) {
        record.bystander_turns_per_s = double(result.bystander_turns) / result.elapsed_s;
        record.bystander_share = bystander_share(options, result);
    }
    if (const histogram &delay = result.delay_ticks; delay.count() > 0) {
        double tick_ns = hf_tick_ns();
        record.delay_mean_ns = delay.mean() * tick_ns;
        record.delay_p50_ns = double(delay.quantile(0.5)) * tick_ns;
        record.delay_p99_ns = double(delay.quantile(0.99)) * tick_ns;
        record.delay_max_ns = double(delay.max()) * tick_ns;
        delay.visit_buckets(
            [&](std::uint64_t ticks, std::uint64_t count) { record.delay_counts.add(double(ticks) * tick_ns, count); });
    }
    return record;
}

int measure(const cell_options &options, const std::function<cell_result(const cell_options &)> &run) {
    return run_checked(options.workload + ": " + options.lock, [&] {
        hf_tick_ns(); // calibrates, before there are threads that would disturb it
        fmt::print("{}\n", record_of(options, run(options)).dump());
    });
}

// The Debian packages that a program of others is made with. Empty: there is no such program.
std::string packages_of(const std::string &lock) {
    if (lock == "boost-fiber" || lock == "boost-fiber-ces")
        return "libboost-fiber-dev";
    if (lock == "java" || lock == "java-ces")
        return "default-jdk-headless, of version 21 or later";
    if (lock == "kotlin")
        return "kotlin, libkotlinx-coroutines-java, libkotlinx-atomicfu-java and libslf4j-java";
    if (lock == "go")
        return "golang-go";
    return lock == "tokio" ? "rustc, cargo and librust-tokio-dev" : "";
}

int say_absent(const cell_options &options, const std::string &why) {
    fmt::print(stderr, "{}: {} is absent: {}\n", options.workload, options.lock, why);
    return cli::exit_absent;
}

// Goes on as another program, with `before` in front of the arguments. Returns when there is none.
int become(const std::string &name, const cell_options &options, std::vector<std::string> before, char **argv,
           const std::string &how_to_get_it) {
    std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    std::vector<char *> arguments{argv[0]};
    for (std::string &one : before)
        arguments.push_back(one.data());
    for (char **one = argv + 1; *one; one++)
        arguments.push_back(*one);
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    if (errno == ENOENT)
        return say_absent(options, how_to_get_it);
    fmt::print(stderr, "{}: can't execute {}: {}\n", options.workload, program.string(), std::strerror(errno));
    return exit_failed;
}

int become_peer(const cell_options &options, char **argv) {
    std::string packages = packages_of(options.lock);
    if (packages.empty())
        return say_absent(options, "there is no such form of what this workload measures");
    return become("coro-peer-" + options.lock, options, {"--workload", options.workload}, argv,
                  fmt::format("install {} (Debian), then configure and build Holdfast again", packages));
}

} // namespace

int coro_workload_main(int argc, char **argv, const std::string &workload, const std::vector<contender> &contenders,
                       const cell_options &defaults, const further_program &further) {
    const cli::workload *known = cli::find_workload(workload);
    cell_options options = defaults;
    options.workload = workload;
    command_line line = line_of(workload, known ? known->summary : "",
                                {"--lock", options.lock, cli::coro_lock_names(), "Which coroutine lock"}, options);
    line.footer = "Prints one JSON record. 'holdfast bench' runs it for many locks and numbers of workers.";
    if (auto status = parse(line, argc, argv))
        return *status;
    for (const contender &one : contenders)
        if (options.lock == one.name)
            return measure(options, one.run);
    if (std::ranges::find(further.locks, options.lock) != further.locks.end())
        return become(further.name, options, {}, argv, further.how_to_get_it);
    return become_peer(options, argv);
}

int coro_peer_main(int argc, char **argv, const std::string &lock, const std::vector<peer_workload> &workloads) {
    cell_options options;
    options.lock = lock;
    command_line line = line_of("coro-peer-" + lock, "Coroutine workloads with locks of others",
                                {"--lock", options.lock, {}, "Its name in the record"}, options);
    line.options.push_back({"--workload", options.workload, {}, "Which workload"});
    if (auto status = parse(line, argc, argv))
        return *status;
    if (options.workload.empty()) {
        fmt::print(stderr, "{}: --workload is required\n", line.name);
        return exit_usage;
    }
    for (const peer_workload &one : workloads)
        if (options.workload == one.name)
            return measure(options, one.run);
    fmt::print(stderr, "{}: {} is absent: it has no such lock\n", options.workload, lock);
    return cli::exit_absent;
}

} // namespace holdfast::bench
