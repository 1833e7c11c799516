// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/kernel_lock_figures.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "cli/report/file_content.hpp"
#include "cli/report/subtitles.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

constexpr double shortest_shown_ns = 100;

double part(const json &record, const char *name) {
    double value = record.at(name).get<double>();
    if (!(value >= 0 && value <= 1))
        refuse("no part of a time");
    return value;
}

std::vector<double> quantiles_in(const json &record) {
    std::vector<double> found;
    for (const json &us : record.at("us")) {
        found.push_back(us.get<double>() * 1000);
        if (!std::isfinite(found.back()) || found.back() < 0)
            refuse("no duration");
    }
    if (found.size() < 2 || !std::is_sorted(found.begin(), found.end()))
        refuse("no quantiles");
    return found;
}

double quantile(const kernel_lock_measurement::row &of, double share) {
    return of.quantiles_ns[static_cast<std::size_t>(share * static_cast<double>(of.quantiles_ns.size() - 1))];
}

std::string name_of(const kernel_lock_measurement::row &of) {
    return of.thread + ", " + of.lock;
}

std::string three_digits(double share) {
    return fmt::format("{:.3g}%", share * 100);
}

plot distribution_of(const kernel_lock_measurement &of, const std::string &title) {
    plot picture;
    picture.title = title;
    picture.subtitles = subtitles_of(of.about(), "a run of each lock");
    picture.x = {"time of a call", scale::logarithmic, format_round_duration_ns};
    picture.y = {"share of the calls", scale::linear, three_digits};
    picture.dots = false;
    for (const auto &row : of.rows()) {
        plot_line line{name_of(row), {}, picture.lines.size()};
        double steps = static_cast<double>(row.quantiles_ns.size() - 1);
        for (std::size_t i = 0; i < row.quantiles_ns.size(); i++) {
            double share = static_cast<double>(i) / steps;
            line.points.push_back({std::max(row.quantiles_ns[i], shortest_shown_ns), share, share, share});
        }
        picture.lines.push_back(line);
    }
    return picture;
}

} // namespace

bool kernel_lock_measurement::is_in(const results &file) {
    return file.about.contains("experiment");
}

kernel_lock_measurement::kernel_lock_measurement(const results &file) : about_(file.about) {
    check_about(about_);
    if (!about_.at("experiment").is_string() || !about_.at("what").is_string())
        refuse("no experiment");
    for (const json &record : file.records)
        rows_.push_back({.lock = record.at("lock").get<std::string>(),
                         .thread = record.at("thread").get<std::string>(),
                         .calls = record.at("calls").get<double>(),
                         .has = part(record, "has"),
                         .is_kept_from = part(record, "is_kept_from"),
                         .quantiles_ns = quantiles_in(record)});
    if (rows_.empty() || rows_.size() > plot_styles)
        refuse("not the records of two threads");
}

section kernel_lock_section(const kernel_lock_measurement &of, const std::string &name) {
    std::string title = of.about().at("what").get<std::string>();
    figure took{.name = name + "-calls",
                .title = title,
                .sentence = "How large a share of the calls took no longer: further left is faster.",
                .picture = distribution_of(of, title),
                .table = {{"calls", "number", "50%", "90%", "99%", "max"}, {}}};
    figure parts{.name = name + "-parts",
                 .title = "What the two have of the lock",
                 .sentence =
                     "Parts of each thread's time. Could have: it is not kept from the lock, by the other one or "
                     "by a ban.",
                 .picture = {},
                 .table = {{"part of the time", "has it", "is kept from it", "could have it"}, {}}};
    for (const auto &row : of.rows()) {
        took.table.rows.push_back({{name_of(row)}, {fmt::format("{:.0f}", row.calls)}});
        for (double share : {0.5, 0.9, 0.99, 1.0})
            took.table.rows.back().push_back({format_duration_ns(quantile(row, share))});
        parts.table.rows.push_back({{name_of(row)},
                                    {three_digits(row.has)},
                                    {three_digits(row.is_kept_from)},
                                    {three_digits(1 - row.is_kept_from)}});
    }
    return {.name = name,
            .title = "A lock of the kernel's: " + of.experiment(),
            .sentence = "Two threads want one lock of the kernel's: a bully, which keeps it for long, and a victim."
                        " Once it is the kernel's mutex, once k-SCL." +
                        why_no_measurement(of.about()),
            .figures = {took, parts}};
}

} // namespace holdfast::cli::report
