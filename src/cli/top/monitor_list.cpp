// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/monitor_list.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "monitor/client/service_report.hpp"

namespace holdfast::cli::top {
namespace {

constexpr int patience_ms = 500;
constexpr int looks_apart_when_silent = 20;

// As monitor/server/listening_socket.cpp makes it.
bool is_name_of_run_socket(const std::string &name) {
    constexpr std::string_view prefix = "@holdfast-";
    constexpr std::size_t digits = 32;
    return name.starts_with(prefix) && name.size() == prefix.size() + digits &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

monitor_sample sample_of(const std::string &socket, const service_report &report) {
    using enum service_report::state;
    return {.socket = socket,
            .runs = report.is == running,
            .answers = report.is == running || report.is == without_monitor || report.is == expected,
            .sentence = report.sentence,
            .uptime_ns = report.status.uptime_ns,
            .preempted_now = report.status.preempted_critical_sections,
            .preemptions = report.status.preemptions_total,
            .sleeps = report.status.sleeps_total,
            .registered_processes = report.status.registered_processes};
}

} // namespace

std::vector<std::string> run_sockets_in(const std::string &listing) {
    std::vector<std::string> found;
    std::istringstream lines(listing);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string number, references, protocol, flags, type, state, inode, name;
        fields >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
        bool listens = flags == "00010000";
        if (listens && is_name_of_run_socket(name) && std::ranges::find(found, name) == found.end())
            found.push_back(name);
    }
    return found;
}

std::vector<monitor_sample> monitor_list::ask() {
    std::vector<monitor_sample> found{sample_of(service_socket_, ask_service(service_socket_, patience_ms))};
    std::ifstream file("/proc/net/unix", std::ios::binary);
    std::ostringstream listing;
    listing << file.rdbuf();
    std::map<std::string, int> asked_again_in;
    for (const std::string &socket : run_sockets_in(listing.str())) {
        auto waits = asked_again_in_.find(socket);
        if (waits != asked_again_in_.end() && waits->second > 0) {
            asked_again_in[socket] = waits->second - 1;
            continue;
        }
        monitor_sample sample = sample_of(socket, ask_service(socket, patience_ms));
        if (sample.answers)
            found.push_back(std::move(sample));
        else
            asked_again_in[socket] = looks_apart_when_silent;
    }
    asked_again_in_ = std::move(asked_again_in); // without those that are gone
    return found;
}

} // namespace holdfast::cli::top
