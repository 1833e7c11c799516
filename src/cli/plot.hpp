// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture of throughput over threads, drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

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
};

struct plot {
    std::string title;
    std::vector<std::string> subtitles;
    std::string x_label;
    std::string y_label;
    double marked_x = 0; // a vertical line there; 0: none
    std::string mark_label;
    std::vector<plot_line> lines;
};

enum class picture_format { svg, png };

// By the file name's extension. Throws usage_error when it is neither.
picture_format picture_format_of(const std::string &path);

// Throws usage_error when there is no gnuplot to draw with.
void check_gnuplot();

// The picture file's content. Throws failure.
std::string draw(const plot &what, picture_format format);

} // namespace holdfast::cli
