// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/slice_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <iterator>

#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

using summary_row = std::vector<cell_summary>;
using summary_field = std::optional<double> cell_summary::*;

bool has_slices(const std::string &lock) {
    return lock == "uscl";
}

std::string length_text(double us) {
    return us == 0 ? "0" : format_round_duration_ns(us * 1000);
}

std::vector<summary_row> summaries_of(const slice_grid &grid, const std::vector<result_record> &records,
                                      unsigned threads) {
    std::vector<summary_row> rows;
    for (double section_us : grid.sections_us) {
        rows.emplace_back();
        for (const contender &one : grid.contenders)
            rows.back().push_back(summary_of(records, one, section_us, threads));
    }
    return rows;
}

std::string text_of(const cell_summary &cell, summary_field field, std::string (*format)(double)) {
    if (cell.rounds == 0)
        return ""; // interrupted before it came to this
    if (cell.rounds_ok == 0)
        return cell.trouble;
    if (!(cell.*field))
        return "-";
    return format(*(cell.*field)) + (cell.rounds_ok < cell.rounds ? "*" : "");
}

// How dark a value is, among those of the same row or of the panel: 0 to 1, the better the darker.
using shading = std::function<double(double value, const std::vector<double> &beside)>;

double share_of_highest(double value, const std::vector<double> &beside) {
    double highest = *std::ranges::max_element(beside);
    return highest > 0 ? value / highest : 0;
}

double shorter_is_darker(double value, const std::vector<double> &beside) {
    auto [least, most] = std::ranges::minmax_element(beside);
    if (*least <= 0 || *least == *most)
        return 0.5;
    return 1 - std::log(value / *least) / std::log(*most / *least);
}

// From 1/threads, which is as unfair as can be.
shading fairer_is_darker(unsigned threads) {
    double least = 1.0 / threads;
    return [least](double value, const std::vector<double> &) {
        return least < 1 ? std::clamp((value - least) / (1 - least), 0.0, 1.0) : 1;
    };
}

struct panel_kind {
    summary_field field;
    std::string (*format)(double);
    std::string title;
    bool by_row; // compared with the values of its row alone
    shading shade;
};

std::vector<double> values_in(const summary_row &row, summary_field field) {
    std::vector<double> values;
    for (const cell_summary &cell : row) {
        if (cell.*field)
            values.push_back(*(cell.*field));
    }
    return values;
}

heat_panel panel_of(const std::vector<summary_row> &rows, const panel_kind &kind) {
    std::vector<double> all;
    for (const summary_row &row : rows)
        std::ranges::copy(values_in(row, kind.field), std::back_inserter(all));
    heat_panel panel{.title = kind.title, .rows = {}};
    for (const summary_row &row : rows) {
        std::vector<double> beside = kind.by_row ? values_in(row, kind.field) : all;
        panel.rows.emplace_back();
        for (const cell_summary &cell : row) {
            heat_cell shown{.text = text_of(cell, kind.field, kind.format), .heat = std::nullopt};
            if (cell.*kind.field)
                shown.heat = kind.shade(*(cell.*kind.field), beside);
            panel.rows.back().push_back(shown);
        }
    }
    return panel;
}

} // namespace

cell_summary summary_of(const std::vector<result_record> &records, const contender &whose,
                        std::optional<double> section_us, unsigned threads) {
    std::vector<result_record> there;
    std::ranges::copy_if(records, std::back_inserter(there), [&](const result_record &one) {
        return one.section_us == section_us && (one.lock != whose.lock || one.slice_us == whose.slice_us);
    });
    return summarize(there, whose.lock, threads);
}

std::string contender::label() const {
    return slice_us ? lock + " " + length_text(*slice_us) : lock;
}

std::vector<contender> contenders_of(const std::vector<std::string> &locks, const std::vector<unsigned> &slices_us) {
    std::vector<contender> contenders;
    for (const auto &lock : locks) {
        if (!has_slices(lock) || slices_us.empty()) {
            contenders.push_back({lock});
            continue;
        }
        for (unsigned slice_us : slices_us)
            contenders.push_back({lock, slice_us});
    }
    return contenders;
}

std::vector<result_record> named_by_contender(std::vector<result_record> records) {
    for (result_record &one : records) {
        if (has_slices(one.lock))
            one.lock = contender{one.lock, one.slice_us}.label();
        one.slice_us.reset();
    }
    return records;
}

std::vector<grid_table> slice_grid::tables(const std::vector<result_record> &records) const {
    unsigned rounds = rounds_in(records);
    std::string over_rounds = rounds > 1 ? fmt::format(", median of {} rounds", rounds) : "";
    struct column_kind {
        summary_field field;
        std::string (*format)(double);
        const char *name;
        std::string title;
    };
    const std::array kinds = {
        column_kind{&cell_summary::ops_per_s, format_count, "throughput", "Operations per second" + over_rounds},
        column_kind{&cell_summary::ratio_to_glibc, format_ratio, "ratio",
                    "Ratio to glibc in the same round" + std::string(rounds > 1 ? ", median" : "") +
                        " (above 1: faster)"},
        column_kind{&cell_summary::wait_max_ns, format_duration_ns, "wait", "Time from request to release, maximum"},
        column_kind{&cell_summary::jain_hold, format_four_decimals, "fairness",
                    "Jain's index of the time that threads held the lock" + over_rounds + " (1: fair)"},
    };
    std::vector<std::string> header{"section"};
    for (const contender &one : contenders)
        header.push_back(one.label());
    bool has_glibc = std::ranges::any_of(contenders, [](const contender &one) { return one.lock == "glibc"; });
    std::vector<grid_table> made;
    for (unsigned count : threads) {
        std::vector<summary_row> rows = summaries_of(*this, records, count);
        for (const column_kind &kind : kinds) {
            if (kind.field == &cell_summary::ratio_to_glibc && !has_glibc)
                continue;
            made.push_back({kind.name, format_number_of(count, "thread") + ": " + kind.title, header, {}});
            for (std::size_t i = 0; i < rows.size(); i++) {
                std::vector<std::string> cells{length_text(sections_us[i])};
                for (const cell_summary &cell : rows[i])
                    cells.push_back(text_of(cell, kind.field, kind.format));
                made.back().rows.push_back(std::move(cells));
            }
        }
    }
    return made;
}

heat_map slice_grid::picture(const std::vector<result_record> &records) const {
    heat_map map;
    for (const contender &one : contenders)
        map.columns.push_back(one.label());
    for (double section_us : sections_us)
        map.rows.push_back(length_text(section_us));
    for (unsigned count : threads) {
        std::vector<summary_row> rows = summaries_of(*this, records, count);
        std::string of = format_number_of(count, "thread") + ": ";
        for (const panel_kind &kind :
             {panel_kind{&cell_summary::ops_per_s, format_count,
                         of + "operations per second (the darker, the nearer to the most in its row)", true,
                         share_of_highest},
              panel_kind{&cell_summary::wait_max_ns, format_duration_ns,
                         of + "longest time from request to release (the darker, the shorter)", false,
                         shorter_is_darker},
              panel_kind{&cell_summary::jain_hold, format_four_decimals,
                         of + "Jain's index of the time that threads held the lock (the darker, the fairer)", false,
                         fairer_is_darker(count)}})
            map.panels.push_back(panel_of(rows, kind));
    }
    return map;
}

} // namespace holdfast::cli
