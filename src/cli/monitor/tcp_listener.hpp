// SPDX-License-Identifier: MIT OR Apache-2.0
// A TCP port to listen on, or why it can't be had.
#pragma once

#include <stdexcept>
#include <string>

#include "base/descriptor.hpp"

namespace holdfast::cli {

// A clause: "prometheus (1234) has the port", "the address is not this machine's".
class not_listening : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Listens on HOST:PORT, or on PORT of all addresses; [::1]:PORT for IPv6. Neither accept() nor what it returns blocks
// for ever: the descriptor is non-blocking, and closed on exec. Throws not_listening.
descriptor listen_on(const std::string &address);

} // namespace holdfast::cli
