// SPDX-License-Identifier: MIT OR Apache-2.0
// What a report is made of.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/draw/heat_map.hpp"
#include "cli/draw/plot.hpp"

namespace holdfast::cli::report {

enum class verdict { none, met, missed };

struct table_cell {
    std::string text;
    verdict is = verdict::none;
};

struct figure_table {
    std::vector<std::string> header;
    std::vector<std::vector<table_cell>> rows; // the first cell names the row
};

struct figure {
    std::string name; // of its file, without an ending
    std::string title;
    std::string sentence;                                // what it shows
    std::optional<std::variant<plot, heat_map>> picture; // empty: a table alone
    figure_table table;
};

struct section {
    std::string name;
    std::string title;
    std::string sentence;
    std::vector<figure> figures;
};

} // namespace holdfast::cli::report
