// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/slice_figures.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/experiment/cell_summary.hpp"
#include "cli/report/subtitles.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

heat_map map_of(const slice_measurement &of, const slice_grid &grid, const std::string &title) {
    heat_map map = grid.picture(of.records());
    map.title = title;
    map.subtitles =
        subtitles_of(of.about(), fmt::format("medians of {}, of waits the maximum",
                                             format_number_of(std::max(rounds_in(of.records()), 1u), "round")));
    map.row_title = "section";
    return map;
}

figure_table table_of(const grid_table &from) {
    figure_table table{.header = from.header, .rows = {}};
    for (const auto &row : from.rows) {
        table.rows.emplace_back();
        for (const auto &text : row)
            table.rows.back().push_back({text});
    }
    return table;
}

} // namespace

section slice_section(const slice_measurement &of, const std::string &name) {
    section made{
        .name = name, .title = of.workload() + background_phrase(of.background()), .sentence = "", .figures = {}};
    made.sentence =
        fmt::format("{}: {}, {}. A row for each length of sections, a column for each lock and length of its "
                    "slices.{}",
                    of.about().at("date").get<std::string>().substr(0, 10), machine_in(of.about()),
                    of.about().at("kernel").get<std::string>(), why_no_measurement(of.about()));
    for (unsigned threads : of.grid().threads) {
        slice_grid grid = of.grid();
        grid.threads.assign(1, threads); // gcc 12 warns of an assigned list of one (-Warray-bounds)
        bool is_first = true;
        for (const grid_table &one : grid.tables(of.records())) {
            figure shown{.name = fmt::format("{}-{}-{}", name, threads, one.name),
                         .title = fmt::format("{}: {}: {}", made.title, format_number_of(threads, "thread"), one.name),
                         .sentence = one.title + ".",
                         .picture = {},
                         .table = table_of(one)};
            if (is_first)
                shown.picture =
                    map_of(of, grid, fmt::format("{}, {}", made.title, format_number_of(threads, "thread")));
            is_first = false;
            made.figures.push_back(std::move(shown));
        }
    }
    return made;
}

} // namespace holdfast::cli::report
