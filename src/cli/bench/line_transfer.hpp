// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a cache line takes from one CPU to another: what a contended lock costs before anything that it does itself.
// In a virtual machine it may change while something is measured (here from 27 to 170 ns), whenever the host moves a
// CPU, and ratios between locks change with it.
#pragma once

#include <optional>

namespace holdfast::cli {

// Nanoseconds one way, between the first and the last CPU that may be used. Takes a millisecond, or twenty where
// something else runs on them. Nothing where there is one CPU, or none could be had for long enough.
std::optional<double> line_transfer_ns();

} // namespace holdfast::cli
