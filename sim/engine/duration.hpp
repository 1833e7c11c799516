// SPDX-License-Identifier: MIT OR Apache-2.0
// Virtual time, in picoseconds: a hit in the first cache is half a nanosecond, and 2^64 of them are half a year.
#pragma once

#include <cstdint>

namespace holdfast::sim {

using picoseconds = std::uint64_t;

constexpr picoseconds ps_a_ns = 1000;
constexpr picoseconds never = ~picoseconds(0);

// What the locks' clock says at the beginning: none of them has ever been used before.
constexpr std::uint64_t clock_begin_ns = 10'000'000'000;

} // namespace holdfast::sim
