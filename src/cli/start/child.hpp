// SPDX-License-Identifier: MIT OR Apache-2.0
// A program run on the user's behalf, so that nobody can tell that holdfast stands between: same terminal, same process
// group, same signals, same rights, same way to end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/start/ending.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/session.hpp"

namespace holdfast::cli {

// Runs the program until it ends and returns how it ended: its status, or the signal.
// Signals that others send to holdfast meanwhile are passed on to it; when its terminal stops it, holdfast stops
// too, until one of them is continued.
// Throws failure, with status 127 when there is no such program and 126 when it can't be executed.
ending run_child(const std::vector<std::string> &arguments, const environment &variables,
                 const std::optional<invoker> &user);

} // namespace holdfast::cli
