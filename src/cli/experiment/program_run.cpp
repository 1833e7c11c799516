// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/program_run.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>

#include "cli/common/csv.hpp"
#include "measure/bootstrap.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"
#include "measure/table.hpp"

namespace holdfast::cli {
namespace {

using runs_of_lock = std::vector<const program_run *>;

runs_of_lock select(const std::vector<program_run> &runs, const std::string &lock) {
    runs_of_lock selected;
    for (const auto &one : runs) {
        if (one.lock == lock)
            selected.push_back(&one);
    }
    return selected;
}

std::string status_of(const runs_of_lock &runs) {
    std::string trouble;
    std::size_t ok = 0;
    for (const program_run *one : runs) {
        if (one->status == run_status::ok)
            ok++;
        else if (trouble.empty())
            trouble = name_of(one->status);
    }
    if (runs.empty())
        return "not run";
    if (ok == runs.size())
        return name_of(run_status::ok);
    return ok == 0 ? trouble : fmt::format("{}, {}/{} ok", trouble, ok, runs.size());
}

run_status status_named(const std::string &name) {
    for (run_status status :
         {run_status::ok, run_status::no_metric, run_status::failed, run_status::crash, run_status::timeout}) {
        if (name == name_of(status))
            return status;
    }
    throw json::other_error::create(501, "unknown status " + name, nullptr);
}

// A run as short as this is mostly the start of its process.
constexpr double wall_s_min = 1e-3;

std::vector<double> ratios_of(const runs_of_lock &runs, const runs_of_lock &glibc_runs, const yardstick &by) {
    std::vector<double> ratios;
    double least = by.by_metric ? 0 : wall_s_min;
    for (const program_run *one : runs) {
        for (const program_run *glibc : glibc_runs) {
            auto value = by.value(*one), reference = by.value(*glibc);
            if (one->round == glibc->round && value && reference && *value > least && *reference > least)
                ratios.push_back(by.higher_is_better ? *value / *reference : *reference / *value);
        }
    }
    return ratios;
}

std::optional<double> ratio_to_glibc(const runs_of_lock &runs, const runs_of_lock &glibc_runs, const yardstick &by) {
    return median(ratios_of(runs, glibc_runs, by));
}

std::string shown(std::optional<double> value, std::string (*format)(double)) {
    return value ? format(*value) : "-";
}

std::optional<double> median_value(const runs_of_lock &runs, const yardstick &by) {
    std::vector<double> values;
    for (const program_run *one : runs) {
        if (auto value = by.value(*one))
            values.push_back(*value);
    }
    return median(values);
}

std::string grid_cell(const runs_of_lock &runs, std::optional<double> value, std::string (*format)(double)) {
    bool all_ok =
        std::all_of(runs.begin(), runs.end(), [](const program_run *one) { return one->status == run_status::ok; });
    if (value)
        return format(*value) + (all_ok ? "" : "*");
    return all_ok ? "-" : status_of(runs);
}

std::vector<std::string> row_of(const std::string &lock, const runs_of_lock &runs, const runs_of_lock &glibc_runs,
                                const yardstick &by) {
    std::vector<double> values, wall_s, cpu_s;
    for (const program_run *one : runs) {
        if (auto value = by.value(*one)) {
            values.push_back(*value);
            wall_s.push_back(one->wall_s);
            cpu_s.push_back(one->cpu_s);
        }
    }
    std::vector<std::string> row{lock, status_of(runs), shown(median(values), format_measured)};
    bool any = !values.empty();
    row.push_back(any ? format_measured(*std::min_element(values.begin(), values.end())) : "-");
    row.push_back(any ? format_measured(*std::max_element(values.begin(), values.end())) : "-");
    row.push_back(shown(standard_deviation(values), format_measured));
    if (by.by_metric)
        row.push_back(shown(median(wall_s), format_measured));
    row.push_back(shown(median(cpu_s), format_measured));
    std::vector<double> ratios = ratios_of(runs, glibc_runs, by);
    std::optional<interval> within = interval_of_median(ratios);
    row.push_back(shown(median(ratios), format_ratio));
    row.push_back(within ? fmt::format("{:.2f} to {:.2f}", within->low, within->high) : "-");
    return row;
}

} // namespace

std::string name_of_metric(const std::string &pattern) {
    std::size_t begin = pattern.starts_with("(?") ? pattern.find(')') + 1 : 0; // flags, as in (?s)
    std::string name = pattern.substr(begin, pattern.find('(', begin) - begin);
    auto is_plain = [](unsigned char each) { return std::isalnum(each) || std::strchr(" _-/%", each); };
    while (!name.empty() && !std::isalnum(static_cast<unsigned char>(name.back())) && name.back() != '%')
        name.pop_back();
    auto first = std::find_if_not(name.rbegin(), name.rend(), is_plain).base();
    name.erase(name.begin(), first);
    name.erase(0, name.find_first_not_of(" -_/%"));
    name.erase(name.find_last_not_of(" -_/") + 1);
    return name.empty() ? "metric" : name;
}

const char *name_of(run_status status) {
    switch (status) {
    case run_status::ok: return "ok";
    case run_status::no_metric: return "no metric";
    case run_status::failed: return "failed";
    case run_status::crash: return "crash";
    case run_status::timeout: return "timeout";
    }
    return "failed";
}

void to_json(json &target, const program_run &run) {
    target = json{{"lock", run.lock}, {"round", run.round}, {"status", name_of(run.status)}};
    if (run.threads)
        target["threads"] = run.threads;
    if (run.metric)
        target["metric"] = *run.metric;
    target["wall_s"] = run.wall_s;
    target["cpu_s"] = run.cpu_s;
    if (run.context_switches)
        target["context_switches"] = *run.context_switches;
}

void from_json(const json &source, program_run &run) {
    source.at("lock").get_to(run.lock);
    run.threads = source.contains("threads") ? count_in(source, "threads", 0) : 0;
    run.round = count_in(source, "round", 0);
    run.status = status_named(source.at("status").get<std::string>());
    run.metric = source.contains("metric") ? std::optional(source.at("metric").get<double>()) : std::nullopt;
    source.at("wall_s").get_to(run.wall_s);
    source.at("cpu_s").get_to(run.cpu_s);
    run.context_switches =
        source.contains("context_switches") ? std::optional(source.at("context_switches").get<double>()) : std::nullopt;
}

std::optional<double> yardstick::value(const program_run &run) const {
    if (run.status != run_status::ok)
        return std::nullopt;
    if (by_metric)
        return run.metric;
    return run.wall_s;
}

std::string comparison_table(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                             const yardstick &by) {
    std::vector<std::string> header{"lock", "status", by.by_metric ? by.metric_name : "wall s", "min", "max", "sigma"};
    if (by.by_metric)
        header.push_back("wall s");
    header.insert(header.end(), {"CPU s", "vs glibc", "interval"});
    table rows(header, 2);
    runs_of_lock glibc_runs = select(runs, "glibc");
    for (const auto &lock : locks)
        rows.add_row(row_of(lock, select(runs, lock), glibc_runs, by));
    return rows.text();
}

std::vector<double> ratios_to_glibc(const std::vector<program_run> &runs, const std::string &lock,
                                    const yardstick &by) {
    return ratios_of(select(runs, lock), select(runs, "glibc"), by);
}

std::string comparison_rows(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                            const std::vector<unsigned> &threads, const yardstick &by, table_form form) {
    exported_table rows(form, {"lock", "threads", "status", by.by_metric ? by.metric_name : "wall s", "CPU s", "rounds",
                               "vs glibc", "from", "to", "min", "max", "sigma"});
    for (unsigned count : threads) {
        std::vector<program_run> cell = with_threads(runs, count);
        for (const std::string &lock : locks) {
            runs_of_lock own = select(cell, lock);
            std::vector<double> cpu_s, values, ratios = ratios_to_glibc(cell, lock, by);
            for (const program_run *one : own) {
                if (one->status == run_status::ok)
                    cpu_s.push_back(one->cpu_s);
                if (auto value = by.value(*one))
                    values.push_back(*value);
            }
            auto end = [&values](auto of) { return values.empty() ? std::nullopt : std::optional(*of(values)); };
            std::optional<interval> within = interval_of_median(ratios);
            rows.add_row({lock, count ? std::to_string(count) : "", status_of(own), csv_number(median_value(own, by)),
                          csv_number(median(cpu_s)), std::to_string(own.size()), csv_number(median(ratios)),
                          csv_number(within ? std::optional(within->low) : std::nullopt),
                          csv_number(within ? std::optional(within->high) : std::nullopt),
                          csv_number(end([](auto &all) { return std::ranges::min_element(all); })),
                          csv_number(end([](auto &all) { return std::ranges::max_element(all); })),
                          csv_number(standard_deviation(values))});
        }
    }
    return rows.text();
}

std::vector<program_run> with_threads(const std::vector<program_run> &runs, unsigned threads) {
    std::vector<program_run> selected;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(selected),
                 [threads](const program_run &one) { return one.threads == threads; });
    return selected;
}

std::string comparison_grid(const std::vector<program_run> &runs, const std::vector<std::string> &locks,
                            const std::vector<unsigned> &threads, const yardstick &by) {
    std::vector<std::string> header{"threads"};
    for (unsigned count : threads)
        header.push_back(std::to_string(count));
    table medians(header), ratios(header);
    for (const auto &lock : locks) {
        std::vector<std::string> median_row{lock}, ratio_row{lock};
        for (unsigned count : threads) {
            std::vector<program_run> cell = with_threads(runs, count);
            runs_of_lock own = select(cell, lock), glibc = select(cell, "glibc");
            median_row.push_back(grid_cell(own, median_value(own, by), format_measured));
            ratio_row.push_back(grid_cell(own, ratio_to_glibc(own, glibc, by), format_ratio));
        }
        medians.add_row(median_row);
        ratios.add_row(ratio_row);
    }
    std::string text = (by.by_metric ? by.metric_name : "Wall time (s)") + ", median\n" + medians.text();
    if (std::find(locks.begin(), locks.end(), "glibc") != locks.end())
        text += "\nRatio to glibc in the same round, median (above 1: better)\n" + ratios.text();
    return text;
}

} // namespace holdfast::cli
