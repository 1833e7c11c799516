// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/moment_figures.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/report/subtitles.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli::report {
namespace {

std::string percent(double share) {
    return fmt::format("{:.7g}%", share * 100);
}

std::string rounded(double value) {
    return fmt::format("{:.0f}", value);
}

using measured_field = std::optional<double> result_record::*;

// A distribution of durations, how it is spoken of, and the columns of its table.
struct distribution {
    duration_counts result_record::*counts;
    const char *name;
    const char *title;
    const char *axis;
    const char *share;
    const char *sentence;
    std::vector<std::string> header;
    std::vector<measured_field> columns;
    measured_field longest; // of a round; the last column
};

duration_counts all_rounds(const workload_measurement &of, const distribution &what, const std::string &lock,
                           unsigned threads) {
    duration_counts all;
    for (const result_record *one : of.cell(lock, threads))
        all.merge(one->*what.counts);
    return all;
}

const result_record *first_with_samples(const workload_measurement &of, const std::string &lock, unsigned threads) {
    for (const result_record *one : of.cell(lock, threads)) {
        if (!one->runnable.empty())
            return one;
    }
    return nullptr;
}

std::string title_of(const workload_measurement &of, const char *what, unsigned threads) {
    return fmt::format("{}{}: {}, {}", of.workload(), background_phrase(of.background()), what,
                       format_number_of(threads, "thread"));
}

std::vector<table_cell> durations_row(const workload_measurement &of, const distribution &what, const std::string &lock,
                                      unsigned threads) {
    std::vector<table_cell> row{{lock}};
    for (measured_field field : what.columns) {
        auto value = [field](const result_record &one) { return one.*field; };
        row.push_back({of.figure(lock, threads, value).text(format_duration_ns)});
    }
    // The longest of all rounds, not the median of their longest.
    auto value = [&what](const result_record &one) { return one.*what.longest; };
    cell_figure longest = of.figure(lock, threads, value);
    if (longest.median)
        longest.median = longest.high;
    row.push_back({longest.text(format_duration_ns)});
    return row;
}

// Nothing where it was not measured.
std::optional<plot> picture_of(const distribution &what, const workload_measurement &of, const drawn_locks &drawn,
                               unsigned threads) {
    plot picture;
    picture.title = title_of(of, what.title, threads);
    picture.subtitles = subtitles_of(of.about(), "all rounds together");
    picture.x = {what.axis, scale::logarithmic, format_round_duration_ns};
    picture.y = {what.share, scale::nines, percent};
    picture.dots = false;
    for (const auto &lock : drawn.among(of.locks())) {
        plot_line line{lock, {}, drawn.style_of(lock)};
        for (const auto &point : all_rounds(of, what, lock, threads).shares())
            line.points.push_back({point.ns, point.share, point.share, point.share});
        if (!line.points.empty())
            picture.lines.push_back(line);
    }
    return picture.lines.empty() ? std::nullopt : std::optional(picture);
}

std::optional<figure> figure_of(const distribution &what, const workload_measurement &of, const drawn_locks &drawn,
                                const std::string &name, unsigned threads) {
    std::optional<plot> picture = picture_of(what, of, drawn, threads);
    if (!picture)
        return std::nullopt;
    figure made{.name = fmt::format("{}-{}-{}", name, what.name, threads),
                .title = picture->title,
                .sentence = what.sentence,
                .picture = *picture,
                .table = {what.header, {}}};
    for (const auto &lock : of.locks())
        made.table.rows.push_back(durations_row(of, what, lock, threads));
    return made;
}

std::vector<table_cell> runnable_row(const workload_measurement &of, const std::string &lock, unsigned threads) {
    std::vector<double> counts;
    for (const result_record *one : of.cell(lock, threads)) {
        for (const auto &sample : one->runnable)
            counts.push_back(sample.threads);
    }
    auto usual = median(counts);
    if (!usual)
        return {{lock}, {"-"}, {"-"}, {"-"}};
    auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return {{lock}, {rounded(*usual)}, {rounded(*least)}, {rounded(*most)}};
}

} // namespace

std::optional<figure> waiting_times(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                    unsigned threads) {
    const distribution waits{
        .counts = &result_record::wait_counts,
        .name = "waits",
        .title = "waiting times",
        .axis = "time from request to release",
        .share = "share of all operations",
        .sentence = "How large a share of the operations took no longer: further left is faster, and where a line "
                    "turns flat, some threads waited for long. 99.9% is as far above 99% as 99% is above 90%.",
        .header = {"wait", "mean", "50%", "99%", "99.9%", "max"},
        .columns = {&result_record::wait_mean_ns, &result_record::wait_p50_ns, &result_record::wait_p99_ns,
                    &result_record::wait_p999_ns},
        .longest = &result_record::wait_max_ns};
    return figure_of(waits, of, drawn, name, threads);
}

std::optional<figure> queuing_delays(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                     unsigned threads) {
    const distribution delays{
        .counts = &result_record::delay_counts,
        .name = "delays",
        .title = "queuing delays",
        .axis = "time that the lock was free while its next owner waited for it",
        .share = "share of all sections",
        .sentence = "How large a share of the sections began no later: further left is faster. 99.9% is as far above "
                    "99% as 99% is above 90%.",
        .header = {"delay", "mean", "50%", "99%", "max"},
        .columns = {&result_record::delay_mean_ns, &result_record::delay_p50_ns, &result_record::delay_p99_ns},
        .longest = &result_record::delay_max_ns};
    return figure_of(delays, of, drawn, name, threads);
}

std::optional<figure> runnable_threads(const workload_measurement &of, const drawn_locks &drawn,
                                       const std::string &name, unsigned threads) {
    plot picture;
    picture.title = title_of(of, "runnable threads over time", threads);
    picture.subtitles = subtitles_of(of.about(), "one round");
    picture.x = {"milliseconds since the measurement began", scale::linear, rounded};
    picture.y = {"threads of the program that run or want to", scale::log_from_zero, rounded};
    picture.dots = false;
    for (const auto &lock : drawn.among(of.locks())) {
        const result_record *round = first_with_samples(of, lock, threads);
        plot_line line{lock, {}, drawn.style_of(lock)};
        for (std::size_t i = 0; round && i < round->runnable.size(); i++) {
            double count = round->runnable[i].threads;
            line.points.push_back({round->runnable[i].at_ms, count, count, count});
        }
        if (!line.points.empty())
            picture.lines.push_back(line);
    }
    if (picture.lines.empty())
        return std::nullopt;
    figure made{.name = fmt::format("{}-runnable-{}", name, threads),
                .title = picture.title,
                .sentence = "Waiters that sleep want no CPU; those that spin do, and take it from threads with work to "
                            "do. In the table all rounds.",
                .picture = picture,
                .table = {{"runnable", "median", "least", "most"}, {}}};
    for (const auto &lock : of.locks())
        made.table.rows.push_back(runnable_row(of, lock, threads));
    return made;
}

} // namespace holdfast::cli::report
