// SPDX-License-Identifier: MIT OR Apache-2.0
// In service_manager.cpp's place where libsystemd is missing: units ordered after the service may start before it is
// ready.
#include "cli/monitor/service_manager.hpp"

namespace holdfast::cli {

void tell_service_manager(const char *) {}

} // namespace holdfast::cli
