// SPDX-License-Identifier: MIT OR Apache-2.0
// In metrics_endpoint.cpp's place where prometheus-cpp is missing.
#include "cli/monitor/metrics_endpoint.hpp"

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {

struct metrics_endpoint::exposing {};

metrics_endpoint::metrics_endpoint(const std::string &, std::function<hf_monitor_status()>) {
    throw failure(
        "this holdfast can't serve metrics, since it was built without prometheus-cpp: leave --metrics out, or "
        "install the library and build again");
}

metrics_endpoint::~metrics_endpoint() = default;

} // namespace holdfast::cli
