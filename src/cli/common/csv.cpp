// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/csv.hpp"

#include <fmt/format.h>
#include <string_view>

namespace holdfast::cli {

std::string csv_text(const std::string &text) {
    bool is_formula = !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
    if (!is_formula && text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = is_formula ? "\"'" : "\"";
    for (char each : text)
        quoted += each == '"' ? "\"\"" : std::string(1, each);
    return quoted + '"';
}

std::string csv_number(std::optional<double> value) {
    return value ? fmt::format("{:.6g}", *value) : "";
}

std::string csv_line(std::span<const std::string> fields) {
    return fmt::format("{}\n", fmt::join(fields, ","));
}

} // namespace holdfast::cli
