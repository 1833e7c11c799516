// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/table.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

namespace holdfast::cli {
namespace {

constexpr std::size_t gap = 2;

} // namespace

table::table(std::vector<std::string> header, std::size_t left_columns) : left_columns_(left_columns) {
    rows_.push_back(std::move(header));
}

void table::add_row(std::vector<std::string> cells) {
    cells.resize(rows_.front().size());
    rows_.push_back(std::move(cells));
}

std::vector<std::size_t> table::column_widths() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto &row : rows_) {
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], row[i].size());
    }
    return widths;
}

std::string table::part(std::size_t from, std::size_t to, const std::vector<std::size_t> &widths) const {
    std::string text;
    for (const auto &row : rows_) {
        std::string line = fmt::format("{:<{}}", row[0], widths[0]);
        for (std::size_t i = from; i < to; i++)
            line += std::string(gap, ' ') + (i < left_columns_ ? fmt::format("{:<{}}", row[i], widths[i])
                                                               : fmt::format("{:>{}}", row[i], widths[i]));
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string table::text(std::size_t width) const {
    std::vector<std::size_t> widths = column_widths();
    std::string text;
    std::size_t from = 1;
    do {
        std::size_t to = from;
        std::size_t used = widths[0];
        while (to < widths.size() && (to == from || used + widths[to] + gap <= width))
            used += widths[to++] + gap;
        if (!text.empty())
            text += "\n";
        text += part(from, to, widths);
        from = to;
    } while (from < widths.size());
    return text;
}

} // namespace holdfast::cli
