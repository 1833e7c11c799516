// SPDX-License-Identifier: MIT OR Apache-2.0
// What somebody who mistyped a name probably meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// The one of `names` that is most like `word`, if any is: a letter in three or fewer differ, two that changed places
// count once, and a beginning of three letters or more is like the whole name.
std::optional<std::string> nearest_name(const std::string &word, const std::vector<std::string> &names);

// ": did you mean 'NAME'?", or nothing.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);

} // namespace holdfast::cli
