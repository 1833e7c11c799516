// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/envelope.hpp"

#include <algorithm>

#include "measure/statistics.hpp"

namespace holdfast::cli::report {
namespace {

using statistic = workload_measurement::statistic;

constexpr double fair_enough = 0.7;

// What `value` is beside the same of another lock in the same round.
statistic ratio(const workload_measurement &of, const std::string &other, const statistic &value) {
    return [&of, other, value](const result_record &one) -> std::optional<double> {
        const result_record *beside = of.beside(one, other);
        auto own = value(one), reference = beside ? value(*beside) : std::nullopt;
        if (!own || !reference || *reference <= 0)
            return std::nullopt;
        return *own / *reference;
    };
}

// In any unit: the time of measurement is the same for all locks.
std::optional<double> cpu_of_operation(const result_record &one) {
    if (!one.cpu_s || one.ops_per_s.value_or(0) <= 0)
        return std::nullopt;
    return *one.cpu_s / *one.ops_per_s;
}

bool is_own(const std::string &lock) {
    return lock == "flexguard" || lock == "default";
}

std::string best_peer(const workload_measurement &of, unsigned threads, bool fair_only) {
    std::string best;
    double most = 0;
    for (const auto &lock : of.locks()) {
        if (is_own(lock))
            continue;
        auto ops_per_s = of.figure(lock, threads, &result_record::ops_per_s).median;
        auto fairness = of.figure(lock, threads, &result_record::fairness_factor).median;
        if (fair_only && fairness.value_or(0.5) > fair_enough)
            continue;
        if (ops_per_s.value_or(0) > most) {
            most = *ops_per_s;
            best = lock;
        }
    }
    return best;
}

} // namespace

std::string own_lock(const workload_measurement &of) {
    if (of.has_lock("flexguard"))
        return "flexguard";
    return of.has_lock("default") ? "default" : "";
}

std::vector<envelope_cell> envelope_of(const workload_measurement &of, const std::string &own) {
    std::vector<envelope_cell> cells;
    for (unsigned threads : of.threads()) {
        envelope_cell one;
        one.threads = threads;
        one.oversubscribed = threads + of.background() > of.cpus();
        auto median_of = [&](const statistic &value) { return of.figure(own, threads, value).median; };
        auto to = [&](const std::string &other, const statistic &value) {
            return other.empty() ? std::nullopt : median_of(ratio(of, other, value));
        };
        statistic speed = &result_record::ops_per_s;
        one.trouble = of.figure(own, threads, speed).trouble;
        one.ops_per_s = median_of(speed);
        one.to_glibc = to("glibc", speed);
        one.best = best_peer(of, threads, false);
        one.to_best = to(one.best, speed);
        one.best_fair = best_peer(of, threads, true);
        one.to_best_fair = to(one.best_fair, speed);
        one.p999_to_glibc = to("glibc", &result_record::wait_p999_ns);
        one.cpu_to_glibc = to("glibc", cpu_of_operation);
        one.fairness_factor = median_of(&result_record::fairness_factor);
        cell_figure longest = of.figure(own, threads, &result_record::wait_max_ns);
        cell_figure glibcs = of.figure("glibc", threads, &result_record::wait_max_ns);
        if (longest.median)
            one.wait_max_ns = longest.high;
        if (longest.median && glibcs.median && glibcs.high > 0)
            one.max_to_glibc = longest.high / glibcs.high;
        cells.push_back(one);
    }
    return cells;
}

} // namespace holdfast::cli::report
