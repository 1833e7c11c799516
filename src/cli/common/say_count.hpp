// SPDX-License-Identifier: MIT OR Apache-2.0
// A line of a list: what was counted.
#pragma once

#include <cstdint>

#include "cli/common/say.hpp"

namespace holdfast::cli {

inline void say_count(const char *name, std::uint64_t count) {
    say("  {:<30}{:>16}\n", name, count);
}

} // namespace holdfast::cli
