// SPDX-License-Identifier: MIT OR Apache-2.0
// What measurements mean, in sentences that a person can act on.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// Of ratios to glibc within a round, above 1 where the lock is better:
// "flexguard: 1.31 times glibc (1.22 to 1.40 in 7 rounds): use it". Empty where there are none.
std::string verdict_on(const std::string &lock, const std::vector<double> &ratios, unsigned rounds);

// "this machine is busy (load 8.1 on 2 CPUs): these are not measurements"; empty when it is not. To be asked before
// anything is measured, and after that. Then there are no verdicts.
std::string why_machine_is_busy();

} // namespace holdfast::cli
