// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers registrations on a socket, for as long as it lives, in a thread of its own. With a monitor it registers
// processes; without one it says so to them, and still collects their counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unistd.h>

#include "monitor/monitor.hpp"

namespace holdfast {

// Sums over all threads of all processes that registered with counters.
struct lock_counters {
    std::uint64_t acquisitions = 0;
    std::uint64_t contended = 0;
    std::uint64_t spun = 0;
    std::uint64_t blocked = 0;
    std::uint64_t mode_switches = 0;
};

class monitor_server {
public:
    // `kernel_monitor` (nullptr: none) must outlive the server. Answers processes of that user and of root, and
    // descendants of this process, whatever their user; others are refused. Throws std::system_error when there can be
    // no socket.
    explicit monitor_server(monitor *kernel_monitor, uid_t program_uid = getuid());
    ~monitor_server();
    monitor_server(const monitor_server &) = delete;
    monitor_server &operator=(const monitor_server &) = delete;

    // What to set HOLDFAST_SOCKET to.
    const std::string &socket_name() const;

    // Read at any time, also after the processes have ended in whatever way.
    lock_counters counters() const;
    unsigned registered_processes() const;
    unsigned refused_processes() const;

private:
    struct serving;
    std::unique_ptr<serving> serving_;
};

} // namespace holdfast
