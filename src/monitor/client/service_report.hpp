// SPDX-License-Identifier: MIT OR Apache-2.0
// What the monitor behind a socket says of itself, or why it says nothing.
#pragma once

#include <string>

#include "hint/registration.h"

namespace holdfast {

struct service_report {
    enum class state {
        running,
        without_monitor, // it serves, but the kernel or its rights do not allow it a monitor
        expected,        // it loads a monitor when threads of its programs have slept for locks
        absent,          // there is no such socket
        dead,            // there is, and nobody listens
        forbidden,       // the socket is for others
        silent,          // connected, and no answer came
        other_version,   // it speaks another version of the protocol
    };

    state is = state::absent;
    std::string sentence;       // what to tell people, with what to do
    hf_monitor_status status{}; // if running
    bool trusted = false;       // by programs that run as this user (hint/trust.h)
};

const char *name_of(service_report::state is);

// Asks it. Connecting, sending and receiving each give up after the patience.
service_report ask_service(const std::string &socket_name, int patience_ms = HF_COMMAND_PATIENCE_MS);

// The socket that programs started from here would use.
std::string service_socket();

} // namespace holdfast
