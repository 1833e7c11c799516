// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers requests (hint/registration.h) on a socket, for as long as it lives, in a thread of its own. With a monitor
// it registers processes; without one it says so to them, and still keeps their statistics.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hint/registration.h"
#include "monitor/client/statistics_reader.hpp"
#include "monitor/monitor.hpp"
#include "monitor/server/listening_socket.hpp"
#include "monitor/server/peer.hpp"
#include "monitor/server/scopes.hpp"

namespace holdfast {

// Decides about a request: HF_REPLY_DONE, or why not. Told how many processes of that user are registered, and run.
using admission = std::function<hf_reply_status(const peer &who, hf_request_kind kind, std::size_t registered)>;

// Processes of that user and of root, and descendants of this process, whatever their user: what `holdfast run` starts.
admission household_of(uid_t user);
// Everybody who gets to the socket, with so many processes of a user at a time. Root's are not counted.
admission everybody_up_to(std::size_t processes_of_a_user_max);

class monitor_server {
public:
    // `kernel_monitor` (nullptr: none) must outlive the server. Throws std::system_error.
    monitor_server(monitor *kernel_monitor, listening_socket socket, admission admits, scoping by = scoping::machine);
    ~monitor_server();
    monitor_server(const monitor_server &) = delete;
    monitor_server &operator=(const monitor_server &) = delete;

    // Of one that has no monitor: processes that want to register are asked to come again later, until begin() says
    // what there is (nullptr: none). Both are called in the server's thread.
    struct expectation {
        // Once, when the first process comes again: it waits for its monitor, or its threads sleep for locks.
        std::function<void()> load;
        std::function<void()> wait; // whenever one comes after that
    };
    void expect_monitor(expectation of);
    void begin(monitor *kernel_monitor);

    // What to set HOLDFAST_SOCKET to, and HOLDFAST_STATS.
    const std::string &socket_name() const;

    // Looks which programs have CPUs of their own by now (scopes::reconsider).
    void reconsider_scopes();

    // Read at any time, also after the processes have ended in whatever way.
    thread_sums counters() const;
    // What rules for single locks matched in all processes together, of those that were watched before there were any.
    void watch_rules(const std::vector<std::string> &names);
    std::map<std::string, std::uint64_t> rule_matches() const;
    hf_monitor_status status() const;
    // How many processes are followed now. Of a status they may have been counted a moment before, for somebody else.
    std::uint64_t count_registered() const;

private:
    struct serving;
    std::unique_ptr<serving> serving_;
};

} // namespace holdfast
