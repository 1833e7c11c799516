// SPDX-License-Identifier: MIT OR Apache-2.0
// The service's figures in Prometheus's text format. docs/service.md lists names and units.
#pragma once

#include <string>
#include <vector>

#include "cli/monitor/program_totals.hpp"
#include "hint/registration.h"

namespace holdfast::cli {

std::string metrics_page(const hf_monitor_status &status, const std::vector<program_total> &programs);

} // namespace holdfast::cli
