// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/service_manager.hpp"

#include <systemd/sd-daemon.h>

namespace holdfast::cli {

void tell_service_manager(const char *state) {
    sd_notify(0, state);
}

} // namespace holdfast::cli
