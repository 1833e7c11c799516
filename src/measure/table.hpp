// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of text. The first columns hold words and are set left, the others numbers and are set right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::cli {

class table {
public:
    explicit table(std::vector<std::string> header, std::size_t left_columns = 1);

    // As many cells as the header has.
    void add_row(std::vector<std::string> cells);

    // Every line ended and at most `width` characters long, as far as single columns allow: columns that do not fit
    // follow in a second part below, with the first column again.
    std::string text(std::size_t width = 100) const;

private:
    std::vector<std::size_t> column_widths() const;
    std::string part(std::size_t from, std::size_t to, const std::vector<std::size_t> &widths) const;

    std::vector<std::vector<std::string>> rows_; // the header first
    std::size_t left_columns_;
};

} // namespace holdfast::cli
