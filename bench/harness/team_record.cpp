// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/team_record.hpp"

#include <algorithm>

#include "base/clock.h"
#include "measure/statistics.hpp"

namespace holdfast::bench {
namespace {

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

} // namespace

cli::result_record make_record(const std::string &workload, const std::string &lock, const team_result &result) {
    cli::result_record record;
    record.workload = workload;
    record.lock = lock;
    record.threads = static_cast<unsigned>(result.threads.size());
    record.cpu_s = result.use.cpu_s;
    record.context_switches = result.use.context_switches;
    record.migrations = result.use.migrations;
    record.measured_s = result.elapsed_s;
    record.runnable = result.runnable;

    histogram wait_ticks;
    std::vector<double> operations, held;
    double sum = 0, held_sum = 0;
    for (const auto &thread : result.threads) {
        wait_ticks.merge(thread.wait_ticks);
        operations.push_back(static_cast<double>(thread.operations));
        sum += operations.back();
        held.push_back(static_cast<double>(thread.held_ticks));
        held_sum += held.back();
    }
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

} // namespace holdfast::bench
