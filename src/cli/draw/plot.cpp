// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/draw/plot.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <fmt/ranges.h>

namespace holdfast::cli {
namespace {

constexpr int height = 620;

// Okabe and Ito's palette, which colour-blind readers can tell apart, and a point shape each for those without colour.
struct style {
    const char *colour;
    int shape;
    const char *dash; // of a line without points
};
constexpr std::array<style, plot_styles> styles = {{{"#000000", 5, "1"},
                                                    {"#D55E00", 7, "1"},
                                                    {"#0072B2", 9, "1"},
                                                    {"#009E73", 13, "1"},
                                                    {"#CC79A7", 11, "'-'"},
                                                    {"#E69F00", 4, "'-'"},
                                                    {"#56B4E9", 6, "'-'"},
                                                    {"#7F7F7F", 8, "'.'"}}};

struct extents {
    axis_extent x;
    axis_extent y;

    explicit extents(const plot &what) : x(what.x), y(what.y) {
        for (const auto &line : what.lines) {
            for (const auto &point : line.points) {
                x.include(point.x);
                if (!point.measured)
                    continue;
                for (double value : {point.low, point.y, point.high})
                    y.include(value);
            }
        }
    }
};

// Their labels are formats to gnuplot.
std::string tick_list(const axis_extent &shown) {
    std::vector<std::string> ticks;
    for (const auto &one : shown.ticks()) {
        std::string label;
        for (char c : one.label)
            label += c == '%' ? std::string("%%") : std::string(1, c);
        ticks.push_back(fmt::format("{} {}", quoted_for_gnuplot(label), one.place));
    }
    return fmt::format("{}", fmt::join(ticks, ", "));
}

// How far to move a line's points to the side, so that whiskers at the same place can be told apart.
double sideways(const plot &what, const extents &shown, std::size_t line) {
    if (!what.dots)
        return 0;
    return shown.x.span() * 0.005 * (static_cast<double>(line) - static_cast<double>(what.lines.size() - 1) / 2);
}

// Nothing where there is no value, or the axis has no place for it: then it is marked at the bottom.
std::optional<double> height_of(const plot_point &point, const plot &what) {
    return point.measured ? place_on(what.y.by, point.y) : std::nullopt;
}

std::string data_blocks(const plot &what, const extents &shown) {
    double bottom = shown.y.from() + shown.y.span() * 0.02;
    std::string script;
    for (std::size_t i = 0; i < what.lines.size(); i++) {
        std::string values, missing;
        double aside = sideways(what, shown, i);
        for (const auto &point : what.lines[i].points) {
            auto x = place_on(what.x.by, point.x), y = height_of(point, what);
            if (!x)
                continue;
            if (!y) {
                values += fmt::format("{} NaN NaN NaN\n", *x + aside); // interrupts the line
                missing += fmt::format("{} {}\n", *x + aside, bottom);
                continue;
            }
            // A whisker may go down to where the axis has no place.
            double low = std::max(place_on(what.y.by, point.low).value_or(shown.y.from()), shown.y.from());
            values += fmt::format("{} {} {} {}\n", *x + aside, *y, low, place_on(what.y.by, point.high).value_or(*y));
        }
        script += fmt::format("$line{} << END\n{}END\n", i, values.empty() ? "0 NaN NaN NaN\n" : values);
        script += fmt::format("$missing{} << END\n{}END\n", i, missing.empty() ? "0 NaN\n" : missing);
    }
    return script;
}

const style &style_of(const plot &what, std::size_t line) {
    return styles[what.lines[line].style.value_or(line) % styles.size()];
}

std::string plot_command(const plot &what) {
    std::vector<std::string> parts;
    bool some_missing = false;
    for (std::size_t i = 0; i < what.lines.size(); i++) {
        const style &look = style_of(what, i);
        if (what.dots)
            parts.push_back(
                fmt::format("$line{} using 1:2:3:4 with yerrorbars lc rgb '{}' lw 1 pt -1 notitle", i, look.colour));
        parts.push_back(fmt::format(
            "$line{} using 1:2 with {} lc rgb '{}' lw 2 {} title {}", i, what.dots ? "linespoints" : "lines",
            look.colour, what.dots ? fmt::format("pt {} ps 1.1", look.shape) : fmt::format("dt {}", look.dash),
            quoted_for_gnuplot(what.lines[i].name)));
        for (const auto &point : what.lines[i].points)
            some_missing |= !height_of(point, what);
    }
    for (std::size_t i = 0; some_missing && i < what.lines.size(); i++)
        parts.push_back(fmt::format("$missing{} using 1:2 with points lc rgb '{}' lw 2 pt 2 ps 1.4 notitle", i,
                                    style_of(what, i).colour));
    if (some_missing)
        parts.push_back("NaN with points lc rgb '#404040' lw 2 pt 2 ps 1.4 title '0, timeout, crash'");
    if (parts.empty())
        parts.emplace_back("NaN notitle");
    return fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
}

std::string mark(const plot &what) {
    if (what.marked_x <= 0)
        return "";
    return fmt::format(
        "set arrow 1 from first {0}, graph 0 to first {0}, graph 1 nohead dt 2 lw 1.5 lc rgb '#909090' back\n"
        "set label 20 {1} at first {0}, graph 0.03 offset 0.7, 0 font ',10' tc rgb '#606060' noenhanced\n",
        place_on(what.x.by, what.marked_x).value_or(0), quoted_for_gnuplot(what.mark_label));
}

std::string script_of(const plot &what, picture_format format) {
    extents shown(what);
    std::string script = gnuplot_terminal(format, height);
    script += "set border 3 lc rgb '#404040'\n"
              "set key outside right center Left reverse samplen 2.5 spacing 1.4 noenhanced\n"
              "set errorbars small\n"
              "set grid ytics xtics lc rgb '#e0e0e0' lt 1 lw 1\n";
    script += fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", shown.x.from(), shown.x.to(), shown.y.from(),
                          shown.y.to());
    script += fmt::format("set ytics nomirror ({})\nset xtics nomirror ({})\n", tick_list(shown.y), tick_list(shown.x));
    script += fmt::format("set xlabel {} noenhanced\nset ylabel {} noenhanced\n", quoted_for_gnuplot(what.x.label),
                          quoted_for_gnuplot(what.y.label));
    return script + gnuplot_headings(what.title, what.subtitles) + mark(what) + data_blocks(what, shown) +
           plot_command(what);
}

} // namespace

std::string draw(const plot &what, picture_format format) {
    return run_gnuplot(script_of(what, format));
}

} // namespace holdfast::cli
