// SPDX-License-Identifier: MIT OR Apache-2.0
// Why a TCP port can't be had.
#pragma once

#include <string>

namespace holdfast::cli {

// A clause about HOST:PORT, or PORT: "prometheus (1234) has the port", "the address is not this machine's". Empty when
// it could be had.
std::string why_not_listening(const std::string &address);

} // namespace holdfast::cli
