// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/thread_time_figure.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/experiment/thread_time_table.hpp"
#include "cli/report/subtitles.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

figure_table table_of(const heat_map &map) {
    figure_table table;
    table.header.emplace_back("thread");
    table.header.insert(table.header.end(), map.columns.begin(), map.columns.end());
    for (std::size_t thread = 0; thread < map.rows.size(); thread++) {
        for (std::size_t i = 0; i < map.panels.size(); i++) {
            table.rows.push_back({{map.rows[thread] + " " + thread_time_meanings()[i]}});
            for (const heat_cell &cell : map.panels[i].rows[thread])
                table.rows.back().push_back({cell.text.empty() ? "-" : cell.text});
        }
    }
    return table;
}

} // namespace

std::optional<figure> thread_times(const workload_measurement &of, const std::string &name) {
    if (!has_thread_times(of.records()))
        return std::nullopt;
    heat_map map = thread_time_map(of.records(), of.locks(), of.threads());
    map.title = of.workload() + background_phrase(of.background()) + ": what each thread got of the time";
    map.subtitles =
        subtitles_of(of.about(), fmt::format("medians of {}", format_number_of(std::max(of.rounds(), 1u), "round")));
    map.row_title = "thread";
    figure made{.name = name + "-thread-times",
                .title = map.title,
                .sentence = "The opportunity is the part of the time in which a thread held the lock, or could have, "
                            "since nobody did.",
                .picture = {},
                .table = table_of(map)};
    made.picture = std::move(map);
    return made;
}

} // namespace holdfast::cli::report
