// SPDX-License-Identifier: MIT OR Apache-2.0
// Busy-waiting detection for what a verb starts, and what it says of it.
#pragma once

#include <memory>
#include <string>

#include "monitor/spin_totals.hpp"
#include "monitor/spin_watch.hpp"

namespace holdfast::cli {

void say_why_spinning_is_not_detected(const std::string &why);

// Of what is started from now on, by a signal; where it can't be had, null, and a sentence says why.
std::unique_ptr<spin_watch> watch_spinning(spin_watch::detector_comes when);

void print_spinning(const spin_totals &totals);

} // namespace holdfast::cli
