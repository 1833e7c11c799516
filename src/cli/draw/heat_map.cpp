// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/draw/heat_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

namespace holdfast::cli {
namespace {

constexpr int line_height = 26;    // of a row
constexpr int margin_height = 150; // headings, and below
constexpr int head_lines = 2;      // of a panel: its title, and the columns' names
constexpr int gap_lines = 1;       // below a panel

struct colour {
    double red, green, blue;
};

// From light to dark in one hue, so that those who see no colours see the same order.
constexpr std::array<colour, 4> hues = {{{247, 251, 255}, {158, 202, 225}, {66, 146, 198}, {8, 48, 107}}};
constexpr double white_text_from = 0.55;

std::string rgb_of(std::optional<double> heat) {
    if (!heat)
        return "#e0e0e0";
    double place = std::clamp(*heat, 0.0, 1.0) * (hues.size() - 1);
    auto lower = std::min(static_cast<std::size_t>(place), hues.size() - 2);
    double part = place - static_cast<double>(lower);
    auto mixed = [&](double colour::*of) {
        return static_cast<int>(std::lround(hues[lower].*of * (1 - part) + hues[lower + 1].*of * part));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mixed(&colour::red), mixed(&colour::green), mixed(&colour::blue));
}

// Lines of the whole picture, counted from the top; a row takes one.
int panel_lines(const heat_map &what) {
    return head_lines + static_cast<int>(what.rows.size()) + gap_lines;
}

int lines_of(const heat_map &what) {
    return panel_lines(what) * static_cast<int>(what.panels.size());
}

// Labels and objects are numbered by gnuplot, from behind those of the headings.
std::string label(const std::string &text, double x, double y, const char *place, const std::string &rgb) {
    return fmt::format("set label {} at first {}, first {} {} font ',10' tc rgb '{}' front noenhanced\n",
                       quoted_for_gnuplot(text), x, y, place, rgb);
}

std::string drawn_cell(const heat_cell &cell, std::size_t column, int line) {
    std::string script = fmt::format(
        "set object rectangle from first {}, first {} to first {}, first {} fc rgb '{}' fs solid border rgb "
        "'#ffffff' back\n",
        column, line, column + 1, line + 1, rgb_of(cell.heat));
    bool on_dark = cell.heat && *cell.heat >= white_text_from;
    return script +
           label(cell.text, static_cast<double>(column) + 0.5, line + 0.5, "center", on_dark ? "#ffffff" : "#202020");
}

std::string panel_text(const heat_map &what, const heat_panel &panel, int top) {
    const std::string grey = "#505050", black = "#202020";
    std::string script = label(panel.title, 0, top + 0.4, "left", black);
    script += label(what.row_title, -0.1, top + 1.5, "right", grey);
    for (std::size_t i = 0; i < what.columns.size(); i++)
        script += label(what.columns[i], static_cast<double>(i) + 0.5, top + 1.5, "center", grey);
    for (std::size_t row = 0; row < panel.rows.size(); row++) {
        int line = top + head_lines + static_cast<int>(row);
        script += label(what.rows[row], -0.1, line + 0.5, "right", grey);
        for (std::size_t column = 0; column < panel.rows[row].size(); column++)
            script += drawn_cell(panel.rows[row][column], column, line);
    }
    return script;
}

std::string script_of(const heat_map &what, picture_format format) {
    std::string script = gnuplot_terminal(format, margin_height + lines_of(what) * line_height);
    script += gnuplot_headings(what.title, what.subtitles);
    script += "unset border\nunset xtics\nunset ytics\nset lmargin 11\nset rmargin 2\nset bmargin 1\n";
    // Lines are counted downwards.
    script += fmt::format("set xrange [0:{}]\nset yrange [{}:0]\n", what.columns.size(), lines_of(what));
    for (std::size_t i = 0; i < what.panels.size(); i++)
        script += panel_text(what, what.panels[i], static_cast<int>(i) * panel_lines(what));
    return script + "plot NaN notitle\n";
}

} // namespace

std::string draw(const heat_map &what, picture_format format) {
    return run_gnuplot(script_of(what, format));
}

} // namespace holdfast::cli
