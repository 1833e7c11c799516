// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <limits>
#include <set>

#include "cli/exit_status.hpp"
#include "cli/process.hpp"
#include "cli/quantity.hpp"

namespace holdfast::cli {
namespace {

constexpr int width = 1000;
constexpr int height = 620;
constexpr std::chrono::seconds gnuplot_patience{60};
constexpr std::size_t subtitle_length_max = 125;

// Okabe and Ito's palette, which colour-blind readers can tell apart, and a point shape each for those without colour.
struct style {
    const char *colour;
    int shape;
};
constexpr std::array<style, 8> styles = {{{"#000000", 5},
                                          {"#D55E00", 7},
                                          {"#0072B2", 9},
                                          {"#009E73", 13},
                                          {"#CC79A7", 11},
                                          {"#E69F00", 4},
                                          {"#56B4E9", 6},
                                          {"#7F7F7F", 8}}};

struct range {
    double from = std::numeric_limits<double>::infinity();
    double to = 0;
    void include(double value) {
        from = std::min(from, value);
        to = std::max(to, value);
    }
    bool empty() const { return to <= 0; }
};

// What means something to gnuplot within double quotes is written as an octal number.
std::string quoted_for_gnuplot(const std::string &text) {
    std::string quoted = "\"";
    for (char c : text) {
        if (c == '\\' || c == '"' || c == '`' || c == '\n')
            quoted += fmt::format("\\{:03o}", static_cast<unsigned>(c));
        else
            quoted += c;
    }
    return quoted + "\"";
}

// All that can be shown on a logarithmic scale: a whisker may go down to 0.
range y_range(const plot &what) {
    range all;
    for (const auto &line : what.lines) {
        for (const auto &point : line.points) {
            for (double value : {point.low, point.y, point.high}) {
                if (point.measured && value > 0)
                    all.include(value);
            }
        }
    }
    if (all.empty())
        return {1, 10};
    return {all.from / 1.6, all.to * 1.6};
}

range x_range(const plot &what) {
    range all;
    for (const auto &line : what.lines) {
        for (const auto &point : line.points)
            all.include(point.x);
    }
    return all.empty() ? range{1, 2} : all;
}

// How far it is from one end of the axis to the other, in powers of two; not 0.
double x_span(const plot &what) {
    range all = x_range(what);
    return std::max(1.0, std::log2(all.to / all.from));
}

// Decades; where these would be too few, 2 and 5 times them as well.
std::string y_ticks(const range &shown) {
    bool wide = shown.to / shown.from > 2000;
    std::vector<std::string> ticks;
    for (int power = static_cast<int>(std::floor(std::log10(shown.from))); power <= std::log10(shown.to); power++) {
        for (int digit : {1, 2, 5}) {
            double value = digit * std::pow(10, power);
            if ((digit == 1 || !wide) && value >= shown.from && value <= shown.to)
                ticks.push_back(fmt::format("{} {}", quoted_for_gnuplot(format_round_count(value)), value));
        }
    }
    return fmt::format("{}", fmt::join(ticks, ", "));
}

// At the values that were measured, as long as their labels do not touch.
std::string x_ticks(const plot &what) {
    std::set<double> values;
    for (const auto &line : what.lines) {
        for (const auto &point : line.points)
            values.insert(point.x);
    }
    double span = x_span(what);
    std::vector<std::string> ticks;
    double last = -1;
    for (double value : values) {
        bool labelled = last < 0 || std::log2(value / last) > span * 0.03;
        ticks.push_back(fmt::format("'{}' {}", labelled ? fmt::format("{}", value) : "", value));
        if (labelled)
            last = value;
    }
    return fmt::format("{}", fmt::join(ticks, ", "));
}

// How far to move a line's points to the side, as a factor, so that whiskers at the same place can be told apart.
double sideways(const plot &what, std::size_t line) {
    double places = static_cast<double>(line) - static_cast<double>(what.lines.size() - 1) / 2;
    return std::exp2(x_span(what) * 0.005 * places);
}

std::string data_blocks(const plot &what, const range &shown) {
    double bottom = shown.from * std::pow(shown.to / shown.from, 0.02);
    std::string script;
    for (std::size_t i = 0; i < what.lines.size(); i++) {
        std::string values, missing;
        double aside = sideways(what, i);
        for (const auto &point : what.lines[i].points) {
            if (point.measured) {
                values +=
                    fmt::format("{} {} {} {}\n", point.x * aside, point.y, std::max(point.low, shown.from), point.high);
            } else {
                values += fmt::format("{} NaN NaN NaN\n", point.x * aside); // interrupts the line
                missing += fmt::format("{} {}\n", point.x * aside, bottom);
            }
        }
        script += fmt::format("$line{} << END\n{}END\n", i, values);
        script += fmt::format("$missing{} << END\n{}END\n", i, missing.empty() ? "0 NaN\n" : missing);
    }
    return script;
}

std::string plot_command(const plot &what) {
    std::vector<std::string> parts;
    bool some_missing = false;
    for (std::size_t i = 0; i < what.lines.size(); i++) {
        const style &look = styles[i % styles.size()];
        parts.push_back(
            fmt::format("$line{} using 1:2:3:4 with yerrorbars lc rgb '{}' lw 1 pt -1 notitle", i, look.colour));
        parts.push_back(fmt::format("$line{} using 1:2 with linespoints lc rgb '{}' lw 2 pt {} ps 1.1 title {}", i,
                                    look.colour, look.shape, quoted_for_gnuplot(what.lines[i].name)));
        for (const auto &point : what.lines[i].points)
            some_missing |= !point.measured;
    }
    for (std::size_t i = 0; some_missing && i < what.lines.size(); i++)
        parts.push_back(fmt::format("$missing{} using 1:2 with points lc rgb '{}' lw 2 pt 2 ps 1.4 notitle", i,
                                    styles[i % styles.size()].colour));
    if (some_missing)
        parts.push_back("NaN with points lc rgb '#404040' lw 2 pt 2 ps 1.4 title '0, timeout, crash'");
    return fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
}

// Cuts a line that is too long where there are spaces, and puts the pieces at the end of `lines`.
void wrap(std::string line, std::vector<std::string> &lines) {
    while (line.size() > subtitle_length_max) {
        std::size_t space = line.rfind(' ', subtitle_length_max);
        if (space == std::string::npos || space < subtitle_length_max / 2)
            space = subtitle_length_max;
        lines.push_back(line.substr(0, space));
        line = "    " + line.substr(line[space] == ' ' ? space + 1 : space);
    }
    lines.push_back(line);
}

std::string headings(const plot &what) {
    std::vector<std::string> subtitles;
    for (const auto &one : what.subtitles)
        wrap(one, subtitles);
    std::string script =
        fmt::format("set label 1 {} at graph 0, graph 1 offset 0, {} font ',15' front noenhanced\n",
                    quoted_for_gnuplot(what.title), 1.0 + 1.25 * static_cast<double>(subtitles.size()));
    for (std::size_t i = 0; i < subtitles.size(); i++)
        script += fmt::format(
            "set label {} {} at graph 0, graph 1 offset 0, {} font ',10' tc rgb '#505050' front noenhanced\n", i + 2,
            quoted_for_gnuplot(subtitles[i]), 0.8 + 1.15 * static_cast<double>(subtitles.size() - 1 - i));
    return script + fmt::format("set tmargin {}\n", 3 + static_cast<int>(1.3 * static_cast<double>(subtitles.size())));
}

std::string mark(const plot &what) {
    if (what.marked_x <= 0)
        return "";
    return fmt::format(
        "set arrow 1 from first {0}, graph 0 to first {0}, graph 1 nohead dt 2 lw 1.5 lc rgb '#909090' back\n"
        "set label 20 {1} at first {0}, graph 0.03 offset 0.7, 0 font ',10' tc rgb '#606060' noenhanced\n",
        what.marked_x, quoted_for_gnuplot(what.mark_label));
}

std::string script_of(const plot &what, picture_format format) {
    range shown = y_range(what);
    std::string script =
        format == picture_format::svg
            ? fmt::format(
                  "set terminal svg size {},{} font 'DejaVu Sans,Arial,sans-serif,12' background '#ffffff' dynamic\n",
                  width, height)
            : fmt::format("set terminal pngcairo size {},{} font 'DejaVu Sans,12' background '#ffffff'\n", width,
                          height);
    script += "set encoding utf8\n"
              "set border 3 lc rgb '#404040'\n"
              "set logscale x 2\nset logscale y 10\n"
              "set key outside right center Left reverse samplen 2.5 spacing 1.4 noenhanced\n"
              "set errorbars small\n"
              "set grid ytics xtics lc rgb '#e0e0e0' lt 1 lw 1\n";
    double margin = std::exp2(x_span(what) * 0.05);
    script += fmt::format("set xrange [{}:{}]\n", x_range(what).from / margin, x_range(what).to * margin);
    script += fmt::format("set yrange [{}:{}]\n", shown.from, shown.to);
    script += fmt::format("set ytics nomirror ({})\nset xtics nomirror ({})\n", y_ticks(shown), x_ticks(what));
    script += fmt::format("set xlabel {} noenhanced\nset ylabel {} noenhanced\n", quoted_for_gnuplot(what.x_label),
                          quoted_for_gnuplot(what.y_label));
    return script + headings(what) + mark(what) + data_blocks(what, shown) + plot_command(what);
}

} // namespace

picture_format picture_format_of(const std::string &path) {
    std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".svg")
        return picture_format::svg;
    if (extension == ".png")
        return picture_format::png;
    throw usage_error(
        fmt::format("can't tell the picture's format from '{}': use a name that ends in .svg or .png", path));
}

void check_gnuplot() {
    try {
        process(program{{"gnuplot", "--version"}}).wait(gnuplot_patience, nullptr);
    } catch (const failure &) {
        throw usage_error(
            "there is no gnuplot to draw the picture with: install it (Debian: apt-get install gnuplot-nox) "
            "or leave --plot out");
    }
}

std::string draw(const plot &what, picture_format format) {
    program gnuplot{{"gnuplot", "-"}};
    gnuplot.input = script_of(what, format);
    process_end end = process(gnuplot).wait(gnuplot_patience, nullptr);
    if (!end.succeeded() || end.output.empty())
        throw failure(fmt::format("gnuplot could not draw the picture: it {}: {}", end.sentence(), end.errors));
    return end.output;
}

} // namespace holdfast::cli
