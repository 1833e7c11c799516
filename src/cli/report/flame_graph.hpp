// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks as a picture: as wide as they took time, callers below. One SVG file that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "cli/report/waiting_stacks.hpp"

namespace holdfast::cli::report {

std::string flame_graph(const std::vector<waiting_stack> &stacks, const std::string &title);

} // namespace holdfast::cli::report
