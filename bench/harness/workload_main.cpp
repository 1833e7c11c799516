// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/workload_main.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "base/clock.h"
#include "harness/measured_lock.hpp"
#include "holdfast/uscl.h"
#include "measure/number_range.hpp"
#include "measure/result_record.hpp"
#include "measure/statistics.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

static_assert(cli::slice_us_max == HF_USCL_SLICE_US_MAX);

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

void put_waits(const histogram &wait_ticks, cli::result_record &record) {
    if (wait_ticks.count() == 0)
        return;
    double tick_ns = hf_tick_ns();
    record.wait_mean_ns = wait_ticks.mean() * tick_ns;
    record.wait_p50_ns = static_cast<double>(wait_ticks.quantile(0.5)) * tick_ns;
    record.wait_p99_ns = static_cast<double>(wait_ticks.quantile(0.99)) * tick_ns;
    record.wait_p999_ns = static_cast<double>(wait_ticks.quantile(0.999)) * tick_ns;
    record.wait_max_ns = static_cast<double>(wait_ticks.max()) * tick_ns;
    wait_ticks.visit_buckets([&](std::uint64_t ticks, std::uint64_t count) {
        record.wait_counts.add(static_cast<double>(ticks) * tick_ns, count);
    });
}

std::vector<cli::thread_time> thread_times(const team_result &result, double held_sum_s) {
    std::vector<cli::thread_time> times;
    double idle_s = std::max(0.0, result.elapsed_s - held_sum_s);
    for (const auto &thread : result.threads) {
        double held_s = 1e-9 * hf_tick_ns() * static_cast<double>(thread.held_ticks);
        times.push_back({thread.cpu_s, held_s, held_s + idle_s});
    }
    return times;
}

cli::result_record make_record(const std::string &workload, const std::string &lock, const team_result &result) {
    cli::result_record record;
    record.workload = workload;
    record.lock = lock;
    record.threads = static_cast<unsigned>(result.threads.size());
    record.cpu_s = result.cpu_s;
    record.measured_s = result.elapsed_s;
    record.runnable = result.runnable;

    histogram wait_ticks;
    std::vector<double> operations, held;
    double sum = 0, held_sum = 0, polls = 0;
    for (const auto &thread : result.threads) {
        wait_ticks.merge(thread.wait_ticks);
        operations.push_back(static_cast<double>(thread.operations));
        sum += operations.back();
        held.push_back(static_cast<double>(thread.held_ticks));
        held_sum += held.back();
        polls += static_cast<double>(thread.polls);
    }
    if (counts_polls(lock))
        record.spins = polls;
    record.ops_per_s = sum / result.elapsed_s;
    record.fairness_factor = cli::fairness_factor(operations);
    record.jain_ops = cli::jain_index(operations);
    if (held_sum > 0)
        record.jain_hold = cli::jain_index(held);
    if (result.has_cpu_of_each)
        record.thread_times = thread_times(result, 1e-9 * hf_tick_ns() * held_sum);
    record.share_error = result.share_error;
    put_waits(wait_ticks, record);
    return record;
}

} // namespace

int workload_main(int argc, char **argv, const std::string &name,
                  const std::function<team_result(const workload_options &)> &run, further_options further) {
    const cli::workload *workload = cli::find_workload(name);
    CLI::App app{workload ? workload->summary : "", name};
    app.footer("Prints one JSON record. 'holdfast bench' runs it for many locks and numbers of threads.");
    std::string lock = "default";
    workload_options options{nullptr, 1, 0.5};
    app.add_option("--lock", lock, "glibc, default, a lock of Holdfast's, or a peer")->capture_default_str();
    app.add_option("--threads", options.threads, "Number of threads")
        ->check(cli::from_to(1u, cli::threads_max))
        ->capture_default_str();
    app.add_option("--seconds", options.seconds, "How long to measure")
        ->check(cli::from_to(cli::seconds_min, cli::seconds_max))
        ->capture_default_str();
    if (further == further_options::readers_and_writers)
        app.add_option("--writers", options.writers, "Number of threads that write")
            ->check(cli::from_to(1u, cli::threads_max))
            ->capture_default_str();
    if (further == further_options::slice_and_section || further == further_options::readers_and_writers) {
        app.add_option("--slice-us", options.slice_us, "Microseconds of a slice of u-SCL or RW-SCL")
            ->check(cli::from_to(0.0, double(cli::slice_us_max)));
        app.add_option("--section-us", options.section_us, "Microseconds of a critical section")
            ->check(cli::from_to(0.0, cli::section_us_max));
    }
    if (further == further_options::time_between)
        app.add_option("--between-us", options.between_us, "Microseconds from a release to the next request")
            ->check(cli::from_to(0.0, cli::between_us_max));
    try {
        app.parse(argc, argv);
        options.lock = &find_lock(lock);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error);
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return exit_usage;
    } catch (const lock_left_out &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return cli::exit_absent;
    } catch (const std::invalid_argument &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return exit_usage;
    }

    try {
        if (options.slice_us >= 0)
            hf_uscl_set_default_slice(static_cast<std::uint32_t>(options.slice_us));
        hf_tick_ns(); // calibrates, before there are threads that would disturb it
        cli::result_record record = make_record(name, lock, run(options));
        if (options.between_us >= 0)
            record.between_us = options.between_us;
        if (options.slice_us >= 0)
            record.slice_us = options.slice_us;
        if (options.section_us >= 0)
            record.section_us = options.section_us;
        fmt::print("{}\n", cli::json(record).dump());
        return 0;
    } catch (const std::exception &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return exit_failed;
    }
}

} // namespace holdfast::bench
