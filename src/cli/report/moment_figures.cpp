// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/moment_figures.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/background_load.hpp"
#include "cli/quantity.hpp"
#include "cli/report/workload_figures.hpp"
#include "cli/statistics.hpp"

namespace holdfast::cli::report {
namespace {

std::string percent(double share) {
    return fmt::format("{:.7g}%", share * 100);
}

std::string whole(double value) {
    return fmt::format("{:.0f}", value);
}

// A distribution of durations, and how it is spoken of.
struct distribution {
    duration_counts result_record::*counts;
    const char *name;
    const char *title;
    const char *axis;
    const char *share;
    const char *sentence;
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

std::vector<table_cell> durations_row(const workload_measurement &of, const std::string &lock, unsigned threads,
                                      const std::vector<std::optional<double> result_record::*> &fields,
                                      std::optional<double> result_record::*longest_of_round) {
    std::vector<table_cell> row{{lock}};
    for (auto field : fields) {
        auto value = [field](const result_record &one) { return one.*field; };
        row.push_back({of.figure(lock, threads, value).text(format_duration_ns)});
    }
    // The longest of all rounds, not the median of their longest.
    auto value = [longest_of_round](const result_record &one) { return one.*longest_of_round; };
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
    return {{lock}, {whole(*usual)}, {whole(*least)}, {whole(*most)}};
}

} // namespace

std::optional<figure> waiting_times(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                    unsigned threads) {
    constexpr distribution waits{
        &result_record::wait_counts,
        "waits",
        "waiting times",
        "time from request to release",
        "share of all operations",
        "How large a share of the operations took no longer: further left is faster, and where a line turns flat, some "
        "threads waited for long. 99.9% is as far above 99% as 99% is above 90%."};
    std::optional<plot> picture = picture_of(waits, of, drawn, threads);
    if (!picture)
        return std::nullopt;
    figure made{.name = fmt::format("{}-{}-{}", name, waits.name, threads),
                .title = title_of(of, waits.title, threads),
                .sentence = waits.sentence,
                .picture = *picture,
                .table = {{"wait", "mean", "50%", "99%", "99.9%", "max"}, {}}};
    for (const auto &lock : of.locks())
        made.table.rows.push_back(durations_row(of, lock, threads,
                                                {&result_record::wait_mean_ns, &result_record::wait_p50_ns,
                                                 &result_record::wait_p99_ns, &result_record::wait_p999_ns},
                                                &result_record::wait_max_ns));
    return made;
}

std::optional<figure> queuing_delays(const workload_measurement &of, const drawn_locks &drawn, const std::string &name,
                                     unsigned threads) {
    constexpr distribution delays{
        &result_record::delay_counts,
        "delays",
        "queuing delays",
        "time that the lock was free while its next owner waited for it",
        "share of all sections",
        "How large a share of the sections began no later: further left is faster. 99.9% is as far above 99% as 99% is "
        "above 90%."};
    std::optional<plot> picture = picture_of(delays, of, drawn, threads);
    if (!picture)
        return std::nullopt;
    figure made{.name = fmt::format("{}-{}-{}", name, delays.name, threads),
                .title = title_of(of, delays.title, threads),
                .sentence = delays.sentence,
                .picture = *picture,
                .table = {{"delay", "mean", "50%", "99%", "max"}, {}}};
    for (const auto &lock : of.locks())
        made.table.rows.push_back(
            durations_row(of, lock, threads,
                          {&result_record::delay_mean_ns, &result_record::delay_p50_ns, &result_record::delay_p99_ns},
                          &result_record::delay_max_ns));
    return made;
}

std::optional<figure> runnable_threads(const workload_measurement &of, const drawn_locks &drawn,
                                       const std::string &name, unsigned threads) {
    plot picture;
    picture.title = title_of(of, "runnable threads over time", threads);
    picture.subtitles = subtitles_of(of.about(), "one round");
    picture.x = {"milliseconds since the measurement began", scale::linear, whole};
    picture.y = {"threads of the program that run or want to", scale::log_from_zero, whole};
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
