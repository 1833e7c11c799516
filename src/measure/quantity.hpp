// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers as people read them: three significant digits and a unit.
#pragma once

#include <string>

namespace holdfast::cli {

std::string format_number_of(unsigned count, const char *noun); // 1 round, 2 rounds
std::string format_count(double value);                         // 950, 13.2k, 5.53M
std::string format_round_count(double value);                   // 950, 20k, 5M: for values that have few digits
std::string format_duration_ns(double value);                   // 87ns, 12.3us, 4.51ms, 1.20s
std::string format_round_duration_ns(double value);             // 50ns, 1us, 10ms: likewise
std::string format_ratio(double value);                         // 1.04x, 0.002x, <0.001x, 123x
std::string format_minutes(double seconds);                     // 0:42, 12:05, 1:02:03
std::string format_two_decimals(double value);                  // 0.50
std::string format_four_decimals(double value);                 // 0.5000
std::string format_measured(double value);                      // any number of a user's program: 123456, 0.00123

} // namespace holdfast::cli
