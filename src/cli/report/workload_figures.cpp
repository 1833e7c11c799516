// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/workload_figures.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/report/moment_figures.hpp"
#include "cli/report/subtitles.hpp"
#include "cli/report/thread_time_figure.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

using statistic = workload_measurement::statistic;
using formatter = std::string (*)(double);

std::string whole(double count) {
    return fmt::format("{}", count);
}

std::string short_number(double value) {
    return fmt::format("{:.4g}", value);
}

std::string times(double value) {
    return fmt::format("{:.6g}x", value);
}

std::string round_seconds(double value) {
    return format_round_duration_ns(1e9 * value);
}

std::string seconds(double value) {
    return format_duration_ns(1e9 * value);
}

// Of one figure over numbers of threads.
struct description {
    const char *name;
    std::string title;
    std::string sentence;
    std::string y_label;
    scale by;
    formatter format; // in the table
    formatter tick;
};

figure_table table_over_threads(const workload_measurement &of, const statistic &value, formatter format) {
    figure_table table;
    table.header.emplace_back("threads");
    for (unsigned count : of.threads())
        table.header.push_back(std::to_string(count));
    for (const auto &lock : of.locks()) {
        std::vector<table_cell> row{{lock}};
        for (unsigned count : of.threads())
            row.push_back({of.figure(lock, count, value).text(format)});
        table.rows.push_back(row);
    }
    return table;
}

plot_line line_over_threads(const workload_measurement &of, const statistic &value, const std::string &lock) {
    plot_line line{lock, {}, {}};
    for (unsigned count : of.threads()) {
        cell_figure one = of.figure(lock, count, value);
        if (one.median)
            line.points.push_back({double(count), *one.median, one.low, one.high});
        else if (one.rounds > 0 && one.rounds_ok == 0)
            line.points.push_back({double(count), 0, 0, 0, false});
    }
    return line;
}

std::string conditions(const workload_measurement &of) {
    std::string length = of.cell_s() > 0 ? " of " + format_duration_ns(1e9 * of.cell_s()) : "";
    return fmt::format("{}{}; median of {}{}, minimum to maximum", of.workload(), background_phrase(of.background()),
                       format_number_of(std::max(of.rounds(), 1u), "round"), length);
}

bool measured(const workload_measurement &of, const statistic &value) {
    return std::any_of(of.records().begin(), of.records().end(),
                       [&value](const auto &one) { return one.status == cell_status::ok && value(one); });
}

class section_maker {
public:
    section_maker(const workload_measurement &of, const drawn_locks &drawn, std::string name) : of_(of), drawn_(drawn) {
        made_.name = std::move(name);
        made_.title = of.workload() + (of.background() ? background_phrase(of.background()) : "");
        made_.sentence = fmt::format("{}: {}, {}, {}.{}", of.about().at("date").get<std::string>().substr(0, 10),
                                     machine_in(of.about()), of.about().at("kernel").get<std::string>(), conditions(of),
                                     why_no_measurement(of.about()));
    }

    void add(const description &what, const statistic &value) {
        if (!measured(of_, value))
            return;
        figure one{.name = made_.name + "-" + what.name,
                   .title = made_.title + ": " + what.title,
                   .sentence = what.sentence,
                   .picture = {},
                   .table = table_over_threads(of_, value, what.format)};
        plot picture;
        picture.title = one.title;
        picture.subtitles = subtitles_of(of_.about(), conditions(of_));
        picture.x = {"threads", scale::binary, whole};
        picture.y = {what.y_label, what.by, what.tick};
        picture.marked_x = of_.cpus();
        picture.mark_label = format_number_of(of_.cpus(), "CPU");
        for (const auto &lock : drawn_.among(of_.locks())) {
            plot_line line = line_over_threads(of_, value, lock);
            if (line.points.empty())
                continue;
            line.style = drawn_.style_of(lock);
            picture.lines.push_back(line);
        }
        one.picture = std::move(picture);
        made_.figures.push_back(std::move(one));
    }

    void add(std::optional<figure> one) {
        if (one)
            made_.figures.push_back(std::move(*one));
    }

    section take() { return std::move(made_); }

private:
    const workload_measurement &of_;
    const drawn_locks &drawn_;
    section made_;
};

// As a ratio to what `reference` has in the same round.
statistic ratio_to(const workload_measurement &of, const std::string &reference,
                   std::optional<double> result_record::*which) {
    return [&of, reference, which](const result_record &one) -> std::optional<double> {
        const result_record *other = of.beside(one, reference);
        if (!(one.*which) || !other || (other->*which).value_or(0) <= 0)
            return std::nullopt;
        return *(one.*which) / *(other->*which);
    };
}

std::optional<double> for_each_operation(std::optional<double> amount, const result_record &one) {
    if (!amount || !one.measured_s || one.ops_per_s.value_or(0) * *one.measured_s <= 0)
        return std::nullopt;
    return *amount / (*one.ops_per_s * *one.measured_s);
}

// Part of what a lock of coroutines gains is taken from others: so what it gains stands beside how evenly it did so.
void add_coroutine_figures(section_maker &maker, const workload_measurement &of) {
    maker.add(
        {"to-dispatch", "throughput, to that of queueing the next owner",
         "As a ratio within a round. Part of what a lock of coroutines gains by it is CPU time that others do not "
         "get: see the figures below.",
         "throughput, dispatch = 1", scale::linear, format_ratio, times},
        ratio_to(of, "dispatch", &result_record::ops_per_s));
    maker.add(
        {"burden", "how evenly workers ran the sections",
         "Jain's index of the sections that each worker ran: 1 is even, 1 over the number of workers: one ran all.",
         "Jain's index", scale::linear, format_two_decimals, short_number},
        &result_record::burden_jain);
    maker.add({"same-worker", "how many sections stayed on their worker",
               "Share of the sections on the worker of the section before: there the data under the lock is at hand.",
               "share of the sections", scale::linear, format_two_decimals, short_number},
              &result_record::same_worker);
    maker.add({"same-worker-calm", "how many sections stayed on their worker, while nobody waits",
               "The same in the calm, when each task should run its own: one over the number of CPUs is by chance.",
               "share of the sections", scale::linear, format_two_decimals, short_number},
              &result_record::same_worker_calm);
    maker.add({"bystanders", "what tasks without the lock got of the CPUs",
               "Their share of the CPU time used, over what it would be if all tasks got the same: 1 is fair.",
               "bystanders' share, fair = 1", scale::logarithmic, format_ratio, times},
              &result_record::bystander_share);
    maker.add({"delay", "queuing delay, median", "For how long the lock was free while its next owner waited for it.",
               "queuing delay", scale::logarithmic, format_duration_ns, format_round_duration_ns},
              &result_record::delay_p50_ns);
    maker.add({"delay-p99", "queuing delay, 99th percentile", "The same, of one section in a hundred.", "queuing delay",
               scale::logarithmic, format_duration_ns, format_round_duration_ns},
              &result_record::delay_p99_ns);
}

// Where the lock changes its behaviour, and where it is under most pressure.
std::vector<unsigned> telling_threads(const workload_measurement &of) {
    auto over = std::upper_bound(of.threads().begin(), of.threads().end(), of.cpus());
    std::vector<unsigned> chosen;
    if (over != of.threads().end())
        chosen.push_back(*over);
    if (chosen.empty() || chosen.back() != of.threads().back())
        chosen.push_back(of.threads().back());
    return chosen;
}

} // namespace

section workload_section(const workload_measurement &of, const drawn_locks &drawn, const std::string &name) {
    section_maker maker(of, drawn, name);
    std::string to = of.has_lock("glibc") ? "glibc" : "blocking"; // as all ratios
    maker.add({"time", fmt::format("critical-section time, {} = 1", to),
               fmt::format("Mean time from request to release, as a ratio to that of {} in the same round: below 1 is "
                           "faster. Linear up to 1.2, logarithmic above.",
                           to),
               fmt::format("time from request to release, {} = 1", to), scale::broken, format_ratio, times},
              ratio_to(of, to, &result_record::wait_mean_ns));
    maker.add({"throughput", "throughput",
               "Operations that ended within the measurement, over its time: more is better.", "operations per second",
               scale::logarithmic, format_count, format_round_count},
              &result_record::ops_per_s);
    add_coroutine_figures(maker, of);
    for (unsigned threads : telling_threads(of)) {
        maker.add(waiting_times(of, drawn, name, threads));
        maker.add(queuing_delays(of, drawn, name, threads));
    }
    maker.add({"fairness", "fairness factor",
               "Share of the operations that the busier half of the threads did: 0.5 is fair, 1 means that the other "
               "half got nothing.",
               "fairness factor", scale::linear, format_two_decimals, short_number},
              &result_record::fairness_factor);
    maker.add(runnable_threads(of, drawn, name, of.threads().back()));
    maker.add({"spins", "spin iterations for each operation",
               "How often waiters polled, over the operations. Locks of libraries, and glibc's, do not tell.",
               "polls per operation", scale::log_from_zero, format_count, format_round_count},
              [](const result_record &one) { return for_each_operation(one.spins, one); });
    maker.add({"cpu", "CPU time of a million operations",
               "User and system time of the program over its operations: what the throughput costs the machine.",
               "CPU seconds per million operations", scale::logarithmic, seconds, round_seconds},
              [](const result_record &one) -> std::optional<double> {
                  auto each = for_each_operation(one.cpu_s, one);
                  return each ? std::optional(*each * 1e6) : std::nullopt;
              });
    maker.add({"hold-fairness", "Jain's index of the time that threads held the lock",
               "1: all threads held it for as long; 1 over the number of threads: one had it for itself.",
               "Jain's index", scale::linear, format_four_decimals, short_number},
              &result_record::jain_hold);
    maker.add({"share-error", "how far shares of the lock's time were from the weights'",
               "The worst thread's distance from its share, relative to that share: 0 is exact.",
               "relative distance from the share", scale::linear, format_four_decimals, short_number},
              &result_record::share_error);
    maker.add(thread_times(of, name));
    return maker.take();
}

section time_between_section(const std::vector<const workload_measurement *> &of, const drawn_locks &drawn,
                             const std::string &name) {
    const workload_measurement &first = *of.front();
    unsigned threads = first.threads().back();
    for (const auto *one : of)
        threads = std::min(threads, one->threads().back());
    section made{.name = name,
                 .title = first.workload() + ": time between sections",
                 .sentence = "The shorter the time between a thread's critical sections, the easier it takes the lock "
                             "again before others notice that it is free.",
                 .figures = {}};
    figure fairness{.name = name + "-fairness",
                    .title = fmt::format("{}: fairness factor against time between sections, {}", first.workload(),
                                         format_number_of(threads, "thread")),
                    .sentence = "Share of the operations that the busier half of the threads did: 0.5 is fair.",
                    .picture = {},
                    .table = {}};
    plot picture;
    picture.title = fairness.title;
    picture.subtitles = subtitles_of(first.about(), conditions(first));
    picture.x = {"microseconds from a release to the next request", scale::log_from_zero, whole, true};
    picture.y = {"fairness factor", scale::linear, short_number};
    fairness.table.header.emplace_back("us between");
    for (const auto *one : of)
        fairness.table.header.push_back(whole(one->between_us().value_or(0)));
    for (const auto &lock : first.locks()) {
        plot_line line{lock, {}, drawn.style_of(lock)};
        std::vector<table_cell> row{{lock}};
        for (const auto *one : of) {
            cell_figure cell = one->figure(lock, threads, &result_record::fairness_factor);
            row.push_back({cell.text(format_two_decimals)});
            if (cell.median)
                line.points.push_back({one->between_us().value_or(0), *cell.median, cell.low, cell.high});
        }
        fairness.table.rows.push_back(row);
        if (line.style)
            picture.lines.push_back(line);
    }
    fairness.picture = std::move(picture);
    made.figures.push_back(std::move(fairness));
    return made;
}

} // namespace holdfast::cli::report
