// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast monitor status: asks a running service.
#pragma once

#include "cli/verbs.hpp"

namespace holdfast::cli {

void add_monitor_status(CLI::App &monitor_verb, action &chosen);

} // namespace holdfast::cli
