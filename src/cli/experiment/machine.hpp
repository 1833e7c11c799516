// SPDX-License-Identifier: MIT OR Apache-2.0
// What a measurement's reader must know of where it comes from.
#pragma once

#include <string>

#include "cli/start/session.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

std::string processor_name();
// This process's command line, quoted for a shell.
std::string command_line();

// The object "about" of a results file (docs/benchmarks.md); `monitor`: "present", or why there is none.
json about(const session &session);
json about_this_machine(const std::string &monitor);

} // namespace holdfast::cli
