// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/cell_summary.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "cli/experiment/thread_time_table.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"
#include "measure/table.hpp"

namespace holdfast::cli {
namespace {

using measured_field = std::optional<double> result_record::*;

std::vector<double> values_of(const std::vector<const result_record *> &rounds, measured_field field) {
    std::vector<double> values;
    for (const result_record *one : rounds) {
        if (one->*field)
            values.push_back(*(one->*field));
    }
    return values;
}

std::optional<double> minimum(const std::vector<double> &values) {
    return values.empty() ? std::nullopt : std::optional(*std::min_element(values.begin(), values.end()));
}

std::optional<double> maximum(const std::vector<double> &values) {
    return values.empty() ? std::nullopt : std::optional(*std::max_element(values.begin(), values.end()));
}

std::optional<double> ops_per_s_of(const std::string &lock, const std::vector<result_record> &records, unsigned threads,
                                   unsigned round) {
    for (const auto &one : records) {
        if (one.lock == lock && one.threads == threads && one.round == round && one.status == cell_status::ok)
            return one.ops_per_s;
    }
    return std::nullopt;
}

// Within each round.
std::vector<double> ratios_to(const std::string &lock, const std::vector<result_record> &records,
                              const std::vector<const result_record *> &rounds) {
    std::vector<double> ratios;
    for (const result_record *one : rounds) {
        auto yardstick = ops_per_s_of(lock, records, one->threads, one->round);
        if (yardstick && *yardstick > 0 && one->ops_per_s)
            ratios.push_back(*one->ops_per_s / *yardstick);
    }
    return ratios;
}

using summaries = std::vector<std::vector<cell_summary>>; // [lock][threads]
using cell_text = std::function<std::string(const cell_summary &)>;

std::string make_table(const std::vector<std::string> &locks, const std::vector<unsigned> &threads,
                       const summaries &all, const cell_text &text) {
    std::vector<std::string> header{"threads"};
    for (unsigned count : threads)
        header.push_back(std::to_string(count));
    table rows(header);
    for (std::size_t i = 0; i < locks.size(); i++) {
        std::vector<std::string> row{locks[i]};
        for (const auto &one : all[i])
            row.push_back(text(one));
        rows.add_row(row);
    }
    return rows.text();
}

// A value, or why there is none; '*' where some rounds have none.
cell_text showing(std::optional<double> cell_summary::*field, std::string (*format)(double)) {
    return [field, format](const cell_summary &one) {
        if (one.rounds == 0)
            return std::string(""); // interrupted before it came to this
        if (one.rounds_ok == 0)
            return one.trouble;
        if (!(one.*field))
            return std::string("-");
        std::string text = format(*(one.*field));
        return one.rounds_ok < one.rounds ? text + "*" : text;
    };
}

cell_text showing(std::optional<interval> cell_summary::*field) {
    return [field](const cell_summary &one) {
        const std::optional<interval> &within = one.*field;
        return within ? fmt::format("{:.2f} to {:.2f}", within->low, within->high) : std::string("-");
    };
}

bool some_have(const summaries &all, std::optional<double> cell_summary::*field) {
    for (const auto &row : all) {
        for (const auto &one : row) {
            if (one.*field)
                return true;
        }
    }
    return false;
}

bool some_rounds_missing(const summaries &all) {
    for (const auto &row : all) {
        for (const auto &one : row) {
            if (one.rounds_ok > 0 && one.rounds_ok < one.rounds)
                return true;
        }
    }
    return false;
}

} // namespace

unsigned rounds_in(const std::vector<result_record> &records) {
    unsigned rounds = 0;
    for (const auto &one : records)
        rounds = std::max(rounds, one.round);
    return rounds;
}

cell_summary summarize(const std::vector<result_record> &records, const std::string &lock, unsigned threads) {
    cell_summary summary;
    std::vector<const result_record *> rounds;
    for (const auto &one : records) {
        if (one.lock != lock || one.threads != threads)
            continue;
        summary.rounds++;
        if (one.status == cell_status::ok)
            rounds.push_back(&one);
        else if (summary.trouble.empty())
            summary.trouble = name_of(one.status);
    }
    summary.rounds_ok = static_cast<unsigned>(rounds.size());
    std::vector<double> ops_per_s = values_of(rounds, &result_record::ops_per_s);
    summary.ops_per_s = median(ops_per_s);
    summary.ops_per_s_min = minimum(ops_per_s);
    summary.ops_per_s_max = maximum(ops_per_s);
    summary.ops_per_s_sigma = standard_deviation(ops_per_s);
    std::vector<double> to_glibc = ratios_to("glibc", records, rounds),
                        to_dispatch = ratios_to("dispatch", records, rounds);
    summary.ratio_to_glibc = median(to_glibc);
    summary.within_glibc = interval_of_median(to_glibc);
    summary.ratio_to_dispatch = median(to_dispatch);
    summary.within_dispatch = interval_of_median(to_dispatch);
    summary.wait_p999_ns = median(values_of(rounds, &result_record::wait_p999_ns));
    summary.wait_max_ns = maximum(values_of(rounds, &result_record::wait_max_ns));
    summary.fairness_factor = median(values_of(rounds, &result_record::fairness_factor));
    summary.jain_hold = median(values_of(rounds, &result_record::jain_hold));
    summary.share_error = median(values_of(rounds, &result_record::share_error));
    summary.wait_p50_ns = median(values_of(rounds, &result_record::wait_p50_ns));
    summary.burden_jain = median(values_of(rounds, &result_record::burden_jain));
    summary.same_worker = median(values_of(rounds, &result_record::same_worker));
    summary.same_worker_calm = median(values_of(rounds, &result_record::same_worker_calm));
    summary.bystander_turns_per_s = median(values_of(rounds, &result_record::bystander_turns_per_s));
    summary.bystander_share = median(values_of(rounds, &result_record::bystander_share));
    summary.delay_p50_ns = median(values_of(rounds, &result_record::delay_p50_ns));
    summary.delay_p99_ns = median(values_of(rounds, &result_record::delay_p99_ns));
    summary.delay_max_ns = maximum(values_of(rounds, &result_record::delay_max_ns));
    return summary;
}

std::string cell_tables(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                        const std::vector<unsigned> &threads) {
    summaries all;
    for (const auto &lock : locks) {
        all.emplace_back();
        for (unsigned count : threads)
            all.back().push_back(summarize(records, lock, count));
    }
    unsigned rounds = rounds_in(records);
    std::string over_rounds = rounds > 1 ? fmt::format(", median of {} rounds", rounds) : "";
    auto section = [&](const std::string &title, const cell_text &text) {
        return title + "\n" + make_table(locks, threads, all, text) + "\n";
    };

    auto is_compared = [&](const char *yardstick) {
        return std::find(locks.begin(), locks.end(), yardstick) != locks.end() && locks.size() > 1;
    };
    // What a workload does not measure has no table; where nothing was measured, the tables say why.
    auto measured = [&](std::optional<double> cell_summary::*field) {
        return some_have(all, field) || !some_have(all, &cell_summary::ops_per_s);
    };
    std::string ratio_text = " in the same round" + std::string(rounds > 1 ? ", median" : "") + " (above 1: faster)";

    std::string text = section("Operations per second" + over_rounds, showing(&cell_summary::ops_per_s, format_count));
    if (rounds > 1)
        text += section("Their standard deviation (sigma)", showing(&cell_summary::ops_per_s_sigma, format_count));
    auto section_of_ratios = [&](const char *to, auto ratio, auto within) {
        std::string shown = section(fmt::format("Ratio to {}{}", to, ratio_text), showing(ratio, format_ratio));
        if (rounds >= values_of_interval)
            shown += section("Where that lies in some 9 of 10 such measurements", showing(within));
        return shown;
    };
    if (is_compared("glibc"))
        text += section_of_ratios("glibc", &cell_summary::ratio_to_glibc, &cell_summary::within_glibc);
    if (is_compared("dispatch"))
        text += section_of_ratios("dispatch", &cell_summary::ratio_to_dispatch, &cell_summary::within_dispatch);
    if (measured(&cell_summary::wait_p999_ns)) {
        text += section("Time from request to release, median" + over_rounds,
                        showing(&cell_summary::wait_p50_ns, format_duration_ns));
        text += section("Time from request to release, 99.9th percentile" + over_rounds,
                        showing(&cell_summary::wait_p999_ns, format_duration_ns));
        text +=
            section("Time from request to release, maximum", showing(&cell_summary::wait_max_ns, format_duration_ns));
    }
    if (measured(&cell_summary::fairness_factor) &&
        std::any_of(threads.begin(), threads.end(), [](unsigned count) { return count > 1; }))
        text += section("Fairness factor" + over_rounds + " (0.5: fair, 1: half of the threads did everything)",
                        showing(&cell_summary::fairness_factor, format_two_decimals));
    struct extra {
        std::optional<double> cell_summary::*field;
        std::string (*format)(double);
        const char *title;
        const char *remark;
    };
    constexpr extra extras[] = {
        {&cell_summary::jain_hold, format_four_decimals, "Jain's index of the time that threads held the lock",
         " (1: fair)"},
        {&cell_summary::share_error, format_four_decimals,
         "How far a share of the lock's time was from the weights' share, at worst", ""},
        {&cell_summary::delay_p50_ns, format_duration_ns, "Time that the lock was free while its next owner waited",
         ", median of the sections"},
        {&cell_summary::delay_p99_ns, format_duration_ns, "The same, 99th percentile of the sections", ""},
        {&cell_summary::delay_max_ns, format_duration_ns, "The same, maximum of all", ""},
        {&cell_summary::burden_jain, format_two_decimals, "Jain's index of the sections that each worker ran",
         " (1: even)"},
        {&cell_summary::same_worker, format_two_decimals, "Share of the sections on the worker of the section before",
         ""},
        {&cell_summary::same_worker_calm, format_two_decimals, "The same, while nobody waits", ""},
        {&cell_summary::bystander_turns_per_s, format_count, "Bystanders' turns per second", ""},
        {&cell_summary::bystander_share, format_ratio, "Bystanders' CPU time",
         " (1: as much as if all tasks got the same)"},
    };
    for (const extra &one : extras)
        if (some_have(all, one.field))
            text += section(one.title + over_rounds + one.remark, showing(one.field, one.format));
    text += thread_time_tables(records, locks, threads);
    if (some_rounds_missing(all))
        text += "* not all rounds ended well; over those that did\n\n";
    return text;
}

} // namespace holdfast::cli
