// SPDX-License-Identifier: MIT OR Apache-2.0
// top on a terminal: looks, draws, and does what keys ask for, until the user has enough.
#pragma once

#include "cli/top/observer.hpp"
#include "cli/top/ranking.hpp"

namespace holdfast::cli::top {

// Throws failure when the terminal is of no use.
void show_live(const observer::plan &what, const ranking &how, double delay_s);

} // namespace holdfast::cli::top
