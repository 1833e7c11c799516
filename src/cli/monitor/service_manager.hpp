// SPDX-License-Identifier: MIT OR Apache-2.0
// What systemd is told of the service's state, so that units ordered after it start when it is ready.
#pragma once

namespace holdfast::cli {

// `state` as in sd_notify(3). Nothing happens where no service manager has started this process.
void tell_service_manager(const char *state);

} // namespace holdfast::cli
