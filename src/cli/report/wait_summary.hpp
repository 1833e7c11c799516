// SPDX-License-Identifier: MIT OR Apache-2.0
// A recording in words: which locks, who waits for them where, and who holds them.
#pragma once

#include <string>

#include "cli/waits/recording.hpp"

namespace holdfast::cli::report {

std::string wait_summary(const recording &of);

} // namespace holdfast::cli::report
