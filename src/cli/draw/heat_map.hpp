// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture of coloured tables, one below the other, all with the same rows and columns; drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/draw/gnuplot.hpp"

namespace holdfast::cli {

struct heat_cell {
    std::string text;
    std::optional<double> heat; // 0 light, 1 dark; empty: there is no value, and it is grey
};

struct heat_panel {
    std::string title;
    std::vector<std::vector<heat_cell>> rows; // as many as the map has, each with as many cells as it has columns
};

struct heat_map {
    std::string title{};
    std::vector<std::string> subtitles{};
    std::string row_title{};
    std::vector<std::string> columns{};
    std::vector<std::string> rows{};
    std::vector<heat_panel> panels{};
};

// The picture file's content. Throws failure.
std::string draw(const heat_map &what, picture_format format);

} // namespace holdfast::cli
