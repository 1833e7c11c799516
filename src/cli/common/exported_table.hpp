// SPDX-License-Identifier: MIT OR Apache-2.0
// A table for other programs: comma-separated values, or Markdown.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

enum class table_form { csv, markdown };

class exported_table {
public:
    exported_table(table_form form, const std::vector<std::string> &header);

    // Of text, each quoted where its form asks for that, and of numbers (csv_number).
    void add_row(const std::vector<std::string> &fields);
    const std::string &text() const { return text_; }

private:
    table_form form_;
    std::string text_;
};

} // namespace holdfast::cli
