// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/exported_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/common/csv.hpp"

namespace holdfast::cli {
namespace {

std::string markdown_text(const std::string &text) {
    std::string escaped;
    for (char each : text)
        escaped += each == '|' ? "\\|" : each == '\n' || each == '\r' ? " " : std::string(1, each);
    return escaped;
}

} // namespace

exported_table::exported_table(table_form form, const std::vector<std::string> &header) : form_(form) {
    add_row(header);
    if (form == table_form::markdown)
        add_row(std::vector<std::string>(header.size(), "---"));
}

void exported_table::add_row(const std::vector<std::string> &fields) {
    std::vector<std::string> quoted;
    for (const std::string &field : fields)
        quoted.push_back(form_ == table_form::csv ? csv_text(field) : markdown_text(field));
    text_ += form_ == table_form::csv ? csv_line(quoted) : fmt::format("| {} |\n", fmt::join(quoted, " | "));
}

} // namespace holdfast::cli
