// SPDX-License-Identifier: MIT OR Apache-2.0
// A recording in words: which locks, who waits for them where, and who holds them.
#pragma once

#include <string>

#include "cli/waits/recording.hpp"
#include "cli/waits/wait_profile.hpp"

namespace holdfast::cli::report {

// `profile`: of all its waits.
std::string wait_summary(const recording &of, const wait_profile &profile);

} // namespace holdfast::cli::report
