// SPDX-License-Identifier: MIT OR Apache-2.0
// A recording as other people's viewers read it.
#pragma once

#include <string>

#include "cli/report/waiting_stacks.hpp"
#include "cli/waits/recording.hpp"
#include "cli/waits/wait_profile.hpp"

namespace holdfast::cli::report {

// For https://ui.perfetto.dev and chrome://tracing: a slice for each wait on its thread's track, an arrow from the
// thread that woke it, and for each lock how many waited.
std::string perfetto_trace(const recording &of, const waited_things &things);

// For https://www.speedscope.app.
std::string speedscope_profile(const std::vector<waiting_stack> &stacks, const std::string &title);

// For 'go tool pprof': profile.proto, not compressed.
std::string pprof_profile(const std::vector<waiting_stack> &stacks);

} // namespace holdfast::cli::report
