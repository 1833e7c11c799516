// SPDX-License-Identifier: MIT OR Apache-2.0
// How locks look in pictures: one that people meet often has the same colour and point in each, whichever others are
// drawn beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::cli {

// A style (draw/plot.hpp) for each of these lines. Locks without a style of their own have those that are left, by
// their order; no two lines look alike before all styles are used.
std::vector<std::size_t> styles_of(const std::vector<std::string> &locks);

} // namespace holdfast::cli
