// SPDX-License-Identifier: MIT OR Apache-2.0
// The numbers that are asked for stand here once, in `rule`s; the tables and the sentence take them from there.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <functional>

#include "cli/report/envelope.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli::report {
namespace {

using envelope_cells = std::vector<envelope_cell>;
using getter = std::function<std::optional<double>(const envelope_cell &)>;

constexpr double program_at_least = 0.97; // of glibc: 1.0 within noise

// A figure that has to stay on one side of a bound, with all numbers of threads or with a part of them. Where our mutex
// came to grief nothing is kept, whatever its other rounds gave.
struct rule {
    std::string asked;
    getter value;
    double bound;
    bool at_least;   // else at most
    double part = 1; // of the cells

    verdict judge(const envelope_cell &cell) const {
        if (!cell.trouble.empty())
            return verdict::missed;
        auto found = value(cell);
        if (!found)
            return verdict::none;
        return (at_least ? *found >= bound : *found <= bound) ? verdict::met : verdict::missed;
    }
};

struct table_row {
    std::string name;
    getter value;
    std::string (*format)(double);
    std::optional<rule> asked;
};

getter of(std::optional<double> envelope_cell::*which) {
    return [which](const envelope_cell &cell) { return cell.*which; };
}

// Long enough to judge who had a share: 10 s were asked for, and a measurement ends when its threads see that it has.
bool is_long(const workload_measurement &workload) {
    return workload.cell_s() >= 9.5;
}

std::vector<table_row> rows_of(const workload_measurement &workload) {
    bool alone = workload.background() == 0;
    auto oversubscribed_cpu = [](const envelope_cell &cell) {
        return cell.oversubscribed ? cell.cpu_to_glibc : std::nullopt;
    };
    std::optional<rule> best, best_fair, fair;
    if (is_long(workload))
        fair = {"fairness factor at most 0.6", of(&envelope_cell::fairness_factor), 0.6, false};
    else if (alone)
        best = {"at least 0.9 of the best peer", of(&envelope_cell::to_best), 0.9, true};
    else
        best_fair = {"at least 0.95 of the best peer that starves nobody (fairness factor up to 0.7)",
                     of(&envelope_cell::to_best_fair), 0.95, true};
    return {
        {"operations per second", of(&envelope_cell::ops_per_s), format_count, {}},
        {"to glibc", of(&envelope_cell::to_glibc), format_ratio,
         rule{"at least 1.0 of glibc", of(&envelope_cell::to_glibc), 1.0, true}},
        {"to the best peer", of(&envelope_cell::to_best), format_ratio, best},
        {"to the best fair peer", of(&envelope_cell::to_best_fair), format_ratio, best_fair},
        {"p99.9 wait to glibc's", of(&envelope_cell::p999_to_glibc), format_ratio,
         rule{"99.9th percentile of waits at most twice glibc's", of(&envelope_cell::p999_to_glibc), 2, false}},
        {"longest wait to glibc's", of(&envelope_cell::max_to_glibc), format_ratio,
         rule{"longest wait at most twice glibc's", of(&envelope_cell::max_to_glibc), 2, false}},
        {"longest wait", of(&envelope_cell::wait_max_ns), format_duration_ns,
         rule{"no wait longer than a second", of(&envelope_cell::wait_max_ns), 1e9, false}},
        {"fairness factor", of(&envelope_cell::fairness_factor), format_two_decimals, fair},
        {"CPU time of an operation to glibc's", of(&envelope_cell::cpu_to_glibc), format_ratio,
         rule{"where threads outnumber CPUs, CPU time of an operation at most glibc's", oversubscribed_cpu, 1, false}},
    };
}

// What is asked of a part of the cells.
std::vector<rule> further_rules(const workload_measurement &workload) {
    if (workload.background() > 0 || is_long(workload))
        return {};
    return {{"at least 1.0 of the best peer in 6 of 8 cells", of(&envelope_cell::to_best), 1.0, true, 6.0 / 8},
            {"at least 1.3 of glibc in 5 of 8 cells", of(&envelope_cell::to_glibc), 1.3, true, 5.0 / 8}};
}

std::string named(const std::string &lock, const std::optional<double> &value) {
    return value && !lock.empty() ? lock : "-";
}

std::string text_of(const table_row &line, const envelope_cell &cell) {
    auto value = line.value(cell);
    if (!value)
        return cell.trouble.empty() ? "-" : cell.trouble;
    return line.format(*value) + (cell.trouble.empty() ? "" : "*");
}

figure_table cell_table(const workload_measurement &workload, const envelope_cells &all) {
    figure_table table;
    table.header.emplace_back("threads");
    for (const auto &cell : all)
        table.header.push_back(std::to_string(cell.threads));
    for (const auto &line : rows_of(workload)) {
        std::vector<table_cell> row{{line.name}}, peers;
        for (const auto &cell : all)
            row.push_back({text_of(line, cell), line.asked ? line.asked->judge(cell) : verdict::none});
        table.rows.push_back(row);
        if (line.name != "to the best peer" && line.name != "to the best fair peer")
            continue;
        bool fair = line.name == "to the best fair peer";
        peers.push_back({fair ? "which peer is best of the fair" : "which peer is best"});
        for (const auto &cell : all)
            peers.push_back({fair ? named(cell.best_fair, cell.to_best_fair) : named(cell.best, cell.to_best)});
        table.rows.push_back(peers);
    }
    return table;
}

// "6 of 8", and whether that is what is asked.
std::vector<table_cell> rule_row(const std::string &where, const rule &one, const envelope_cells &all) {
    std::size_t met = 0, judged = 0;
    for (const auto &cell : all) {
        verdict is = one.judge(cell);
        met += is == verdict::met;
        judged += is != verdict::none;
    }
    verdict is = verdict::none;
    if (judged > 0)
        is = static_cast<double>(met) >= std::ceil(one.part * static_cast<double>(judged)) ? verdict::met
                                                                                           : verdict::missed;
    return {{where}, {one.asked}, {fmt::format("{} of {} cells", met, judged), is}};
}

void add_workload(const workload_measurement &workload, section &made, figure_table &rules) {
    std::string own = own_lock(workload);
    if (own.empty() || !workload.has_lock("glibc") || workload.workload() != "shared-memory" || workload.between_us())
        return;
    envelope_cells all = envelope_of(workload, own);
    std::string where = workload.workload() + background_phrase(workload.background());
    if (is_long(workload))
        where += ", long cells";
    for (const auto &line : rows_of(workload)) {
        if (line.asked)
            rules.rows.push_back(rule_row(where, *line.asked, all));
    }
    for (const auto &one : further_rules(workload))
        rules.rows.push_back(rule_row(where, one, all));
    made.figures.push_back(
        {.name = fmt::format("envelope-{}{}", workload.background(), is_long(workload) ? "-long" : ""),
         .title = fmt::format("{}: {} beside the other locks", where, own),
         .sentence =
             fmt::format("Medians of {}; ratios are taken within a round. Peers are all other locks of the run.",
                         format_number_of(std::max(workload.rounds(), 1u), "round")),
         .picture = {},
         .table = cell_table(workload, all)});
}

std::string spread_of(std::vector<double> ratios) {
    if (ratios.empty())
        return "No run ended well.";
    std::sort(ratios.begin(), ratios.end());
    auto at = [&ratios](double share) {
        return ratios[static_cast<std::size_t>(std::lround(share * static_cast<double>(ratios.size() - 1)))];
    };
    return fmt::format("Median over {} of programs and numbers of threads: {}; half of them from {} to {}, all from {} "
                       "to {}.",
                       format_number_of(static_cast<unsigned>(ratios.size()), "cell"),
                       format_two_decimals(median(ratios).value_or(0)), format_two_decimals(at(0.25)),
                       format_two_decimals(at(0.75)), format_two_decimals(ratios.front()),
                       format_two_decimals(ratios.back()));
}

std::string own_lock(const program_measurement &of) {
    for (const char *name : {"flexguard", "default"}) {
        if (std::find(of.locks().begin(), of.locks().end(), name) != of.locks().end())
            return name;
    }
    return "";
}

void add_programs(const std::vector<program_measurement> &programs, section &made, figure_table &rules) {
    std::vector<unsigned> threads;
    std::vector<double> ratios;
    std::size_t met = 0, judged = 0;
    for (const auto &one : programs)
        threads.insert(threads.end(), one.threads().begin(), one.threads().end());
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    figure_table table;
    table.header.emplace_back("threads");
    for (unsigned count : threads)
        table.header.push_back(count ? std::to_string(count) : "as told");
    for (const auto &one : programs) {
        std::vector<table_cell> row{{one.name()}};
        for (unsigned count : threads) {
            cell_figure cell = one.ratio_to_glibc(own_lock(one), count);
            verdict is = verdict::none;
            if (!cell.trouble.empty())
                is = verdict::missed;
            else if (cell.median)
                is = *cell.median >= program_at_least ? verdict::met : verdict::missed;
            if (cell.median)
                ratios.push_back(*cell.median);
            met += is == verdict::met;
            judged += is != verdict::none;
            row.push_back({cell.text(format_ratio), is});
        }
        table.rows.push_back(row);
    }
    if (judged == 0)
        return;
    rules.rows.push_back(
        {{"programs"},
         {"at least 1.0 of glibc within noise (0.97)"},
         {fmt::format("{} of {} cells", met, judged), met == judged ? verdict::met : verdict::missed}});
    made.figures.push_back({.name = "envelope-programs",
                            .title = "Programs under the default mutex: speed as a ratio to glibc's",
                            .sentence = spread_of(ratios),
                            .picture = {},
                            .table = table});
}

} // namespace

section envelope_section(const std::vector<workload_measurement> &workloads,
                         const std::vector<program_measurement> &programs) {
    section made{.name = "envelope",
                 .title = "On the upper envelope?",
                 .sentence =
                     "What is asked of Holdfast's default mutex, and what it keeps. Fairness is asked for over 10 "
                     "seconds: in cells that are shorter it is shown, but not judged.",
                 .figures = {}};
    figure_table rules{{"where", "asked", "met in"}, {}};
    for (const auto &one : workloads)
        add_workload(one, made, rules);
    add_programs(programs, made, rules);
    if (!rules.rows.empty())
        made.figures.insert(made.figures.begin(), {.name = "envelope",
                                                   .title = "Rules",
                                                   .sentence = "Each row is a rule; the tables below have its cells.",
                                                   .picture = {},
                                                   .table = rules});
    return made;
}

} // namespace holdfast::cli::report
