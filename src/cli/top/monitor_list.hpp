// SPDX-License-Identifier: MIT OR Apache-2.0
// The monitors on this machine that we may ask: the service, and those of every `holdfast run`, `bench` and `compare`,
// whose abstract sockets the kernel lists.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/top/look.hpp"

namespace holdfast::cli::top {

// The names of sockets that a server of `holdfast run` listens on, in a text as /proc/net/unix has it. Anybody may
// listen under such a name: what they answer concerns the monitor line alone, and is not waited for long.
std::vector<std::string> run_sockets_in(const std::string &listing);

class monitor_list {
public:
    explicit monitor_list(std::string service_socket) : service_socket_(std::move(service_socket)) {}

    // Asks each once. The service comes first, and is there even when it does not run; of the others only those that
    // answer.
    std::vector<monitor_sample> ask();

private:
    std::string service_socket_;
    std::map<std::string, int> asked_again_in_; // looks, of those that did not let us or did not answer
};

} // namespace holdfast::cli::top
