// SPDX-License-Identifier: MIT OR Apache-2.0
// The check of an option that takes one word of several: unlike CLI11's own it says which one was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/nearest_name.hpp"

namespace holdfast::cli {

// Its description is "{a,b}", as of CLI::IsMember: completion reads it.
inline CLI::Validator one_of(std::vector<std::string> names) {
    std::string known = "{" + CLI::detail::join(names) + "}";
    auto check = [names = std::move(names)](const std::string &word) {
        if (std::find(names.begin(), names.end(), word) != names.end())
            return std::string();
        return fmt::format("it can't be '{}'{}", word, or_one_of(word, names));
    };
    return {check, known};
}

} // namespace holdfast::cli
