// SPDX-License-Identifier: MIT OR Apache-2.0
// What somebody who mistyped a name probably meant.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

// ": did you mean 'NAME'?" of the name that is most like the word, or nothing where none is (config/name_distance.h).
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);

// ": use one of NAME, NAME", and before that what was probably meant.
std::string or_one_of(const std::string &word, const std::vector<std::string> &names);

} // namespace holdfast::cli
