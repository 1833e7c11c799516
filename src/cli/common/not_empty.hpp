// SPDX-License-Identifier: MIT OR Apache-2.0
// The check of an option whose empty value would be as if it were not there: "$FILE" of a variable that is not set.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

inline CLI::Validator not_empty() {
    return {
        [](const std::string &text) { return text.empty() ? std::string("it is empty: give a value") : std::string(); },
        ""};
}

} // namespace holdfast::cli
