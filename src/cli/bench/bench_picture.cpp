// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/bench/bench_picture.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/draw/plot.hpp"
#include "cli/experiment/cell_summary.hpp"
#include "cli/experiment/lock_styles.hpp"
#include "cli/experiment/results_file.hpp"
#include "cli/experiment/slice_grid.hpp"
#include "cli/experiment/thread_time_table.hpp"
#include "cli/experiment/throughput_plot.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

std::vector<std::string> subtitles(const bench_options &options, const json &about, const char *figures) {
    return {fmt::format("{}, {}; {} of {} s, {}{}{}", machine_in(about), about.at("kernel").get<std::string>(),
                        format_number_of(options.rounds, "round"), options.seconds, figures,
                        background_phrase(options.background), about.contains("busy") ? "; the machine was busy" : ""),
            "$ " + about.at("command").get<std::string>()};
}

plot throughput(const bench_options &options, const std::vector<result_record> &records, const json &about) {
    plot picture =
        throughput_plot(options.workload, records, options.locks, options.threads, about.at("cpus").get<unsigned>());
    picture.subtitles = subtitles(options, about, "median, minimum to maximum");
    return picture;
}

heat_map lengths_map(const bench_options &options, const std::vector<result_record> &records, const json &about) {
    slice_grid grid{contenders_of(options.locks, options.slices_us), options.sections_us, options.threads};
    heat_map picture = grid.picture(records);
    picture.title = options.workload + ": slices of the lock by critical sections";
    picture.subtitles = subtitles(options, about, "medians, of waits the maximum");
    picture.row_title = "section";
    return picture;
}

std::string percent(double share) {
    return fmt::format("{:.7g}%", share * 100);
}

// Waits, or queuing delays of coroutines, with the most threads: there they are longest.
plot durations_plot(const bench_options &options, const std::vector<result_record> &records, const json &about) {
    bool of_coroutines = measures_queuing_delays(options.workload);
    auto counts = of_coroutines ? &result_record::delay_counts : &result_record::wait_counts;
    unsigned threads = *std::max_element(options.threads.begin(), options.threads.end());
    plot picture;
    picture.title = fmt::format("{}: {} with {}", options.workload, of_coroutines ? "queuing delays" : "waits",
                                format_number_of(threads, "thread"));
    picture.subtitles = subtitles(options, about, "all together");
    picture.x = {of_coroutines ? "time that the lock was free while its next owner waited for it" : "wait",
                 scale::logarithmic, format_round_duration_ns};
    picture.y = {of_coroutines ? "share of sections that began no later" : "share of waits that were no longer",
                 scale::nines, percent};
    picture.dots = false;
    auto named = options.slices_us.empty() ? records : named_by_contender(records);
    std::vector<std::string> labels;
    for (const contender &one : contenders_of(options.locks, options.slices_us))
        labels.push_back(one.label());
    std::vector<std::size_t> styles = styles_of(labels);
    for (std::size_t i = 0; i < labels.size(); i++) {
        duration_counts durations;
        for (const auto &record : named) {
            if (record.lock == labels[i] && record.threads == threads)
                durations.merge(record.*counts);
        }
        plot_line line{labels[i], {}, styles[i]};
        for (const auto &point : durations.shares())
            line.points.push_back({point.ns, point.share, point.share, point.share});
        picture.lines.push_back(std::move(line));
    }
    return picture;
}

heat_map times_map(const bench_options &options, const std::vector<result_record> &records, const json &about) {
    heat_map picture = thread_time_map(records, options.locks, options.threads);
    picture.title = options.workload + ": what each thread got of the time";
    picture.subtitles = subtitles(options, about, "medians");
    picture.row_title = "thread";
    return picture;
}

} // namespace

std::string bench_picture(const bench_options &options, const std::vector<result_record> &records, const json &about,
                          picture_format format) {
    if (is_about_waits(options.workload) || measures_queuing_delays(options.workload))
        return draw(durations_plot(options, records, about), format);
    if (has_thread_times(records))
        return draw(times_map(options, records, about), format);
    return options.sections_us.empty() ? draw(throughput(options, records, about), format)
                                       : draw(lengths_map(options, records, about), format);
}

} // namespace holdfast::cli
