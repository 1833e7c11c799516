// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/program_figures.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>

#include "cli/experiment/verdict.hpp"
#include "cli/report/subtitles.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

std::string count_or_as_told(double count) {
    return count > 0 ? fmt::format("{}", count) : "as told";
}

std::string ratio_text(double value) {
    return fmt::format("{:.4g}x", value);
}

bool has_ratios(const program_measurement &of) {
    return std::any_of(of.threads().begin(), of.threads().end(),
                       [&of](unsigned count) { return of.ratio_to_glibc("glibc", count).median.has_value(); });
}

// Ratios where glibc was measured too; what the program printed otherwise.
cell_figure shown(const program_measurement &of, const std::string &lock, unsigned threads) {
    return has_ratios(of) ? of.ratio_to_glibc(lock, threads) : of.value(lock, threads);
}

std::string what_is_compared(const program_measurement &of) {
    return of.by().by_metric ? "what the program printed (" + of.about().at("metric").get<std::string>() + ")"
                             : "the time that it took";
}

plot picture_of(const program_measurement &of, const drawn_locks &drawn, const std::string &title) {
    plot picture;
    picture.title = title;
    picture.subtitles = subtitles_of(of.about(), "medians, minimum to maximum" + background_phrase(of.background()));
    picture.x = {"threads", scale::binary, count_or_as_told};
    picture.y = {has_ratios(of) ? "speed as a ratio to glibc's" : "what is compared", scale::linear,
                 has_ratios(of) ? ratio_text : format_measured};
    picture.marked_x = of.cpus();
    picture.mark_label = format_number_of(of.cpus(), "CPU");
    for (const auto &lock : drawn.among(of.locks())) {
        plot_line line{lock, {}, drawn.style_of(lock)};
        for (unsigned count : of.threads()) {
            cell_figure one = shown(of, lock, count);
            if (one.median)
                line.points.push_back({double(count), *one.median, one.low, one.high});
            else if (one.rounds > 0 && one.rounds_ok == 0)
                line.points.push_back({double(count), 0, 0, 0, false});
        }
        picture.lines.push_back(line);
    }
    return picture;
}

// What to do, for each lock and number of threads.
figure verdicts_on(const program_measurement &of, const std::string &name) {
    figure made{.name = name,
                .title = "What to do",
                .sentence =
                    "The median ratio to glibc's, and where it lies in some 9 of 10 such measurements (bootstrap over "
                    "rounds).",
                .picture = {},
                .table = {}};
    made.table.header = {"lock", "threads", "verdict"};
    for (const auto &lock : of.locks()) {
        for (unsigned count : of.threads()) {
            std::vector<program_run> runs = with_threads(of.runs(), count);
            std::string verdict =
                lock == "glibc" ? ""
                                : verdict_on(lock, ratios_to_glibc(runs, lock, of.by()), of.value(lock, count).rounds);
            if (!verdict.empty())
                made.table.rows.push_back({{lock}, {count_or_as_told(count)}, {verdict.substr(lock.size() + 2)}});
        }
    }
    return made;
}

} // namespace

section program_section(const program_measurement &of, const drawn_locks &drawn, const std::string &name) {
    figure speed{.name = name,
                 .title = of.figure_name() + background_phrase(of.background()),
                 .sentence = has_ratios(of)
                                 ? fmt::format("{}, as a ratio to glibc's mutex in the same round: above 1 is "
                                               "better.",
                                               what_is_compared(of))
                                 : what_is_compared(of) + ".",
                 .picture = {},
                 .table = {}};
    speed.sentence.front() = static_cast<char>(std::toupper(speed.sentence.front()));
    speed.table.header.emplace_back("threads");
    for (unsigned count : of.threads())
        speed.table.header.push_back(count_or_as_told(count));
    for (const auto &lock : of.locks()) {
        std::vector<table_cell> row{{lock}};
        for (unsigned count : of.threads())
            row.push_back({shown(of, lock, count).text(has_ratios(of) ? format_ratio : format_measured)});
        speed.table.rows.push_back(row);
    }
    if (of.threads().size() > 1) // else there is nothing to draw a line through
        speed.picture = picture_of(of, drawn, speed.title);
    section made{.name = name, .title = of.name(), .sentence = "", .figures = {}};
    made.sentence =
        fmt::format("{}: {}, {}.{}", of.about().at("date").get<std::string>().substr(0, 10), machine_in(of.about()),
                    of.about().at("kernel").get<std::string>(), why_no_measurement(of.about()));
    made.figures.push_back(std::move(speed));
    if (has_ratios(of) && why_no_measurement(of.about()).empty())
        made.figures.push_back(verdicts_on(of, name + "-verdict"));
    return made;
}

} // namespace holdfast::cli::report
