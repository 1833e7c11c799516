// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture of lines, drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/draw/gnuplot.hpp"
#include "cli/draw/plot_scale.hpp"

namespace holdfast::cli {

struct plot_point {
    double x;
    double y;
    double low; // the whisker's ends
    double high;
    bool measured = true; // false: there is no value; marked at the bottom
};

struct plot_line {
    std::string name;
    std::vector<plot_point> points; // by growing x
    std::optional<std::size_t>
        style; // so that a lock looks the same in all pictures; its place among the lines without
};

struct plot {
    std::string title;
    std::vector<std::string> subtitles;
    axis x;
    axis y;
    double marked_x = 0; // a vertical line there; 0: none
    std::string mark_label;
    std::vector<plot_line> lines;
    bool dots = true; // at each point, with whiskers
};

// Lines beyond these look like one of them.
inline constexpr std::size_t plot_styles = 8;

// The picture file's content. Throws failure.
std::string draw(const plot &what, picture_format format);

} // namespace holdfast::cli
