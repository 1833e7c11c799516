// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/tcp_listener.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <memory>
#include <netdb.h>
#include <set>
#include <sstream>
#include <sys/socket.h>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

// Of the sockets that listen on that port, as links in /proc/PID/fd name them.
std::set<std::string> sockets_on(unsigned port) {
    std::set<std::string> found;
    for (const char *table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream lines(table);
        std::string line;
        std::getline(lines, line); // its heading
        while (std::getline(lines, line)) {
            std::istringstream words(line);
            std::array<std::string, 10>
                field; // number, local, remote, state, queues, timer, retransmits, uid, timeout, inode
            for (std::string &each : field)
                words >> each;
            std::size_t colon = field[1].rfind(':');
            bool listens = field[3] == "0A";
            if (listens && colon != std::string::npos &&
                std::strtoul(field[1].c_str() + colon + 1, nullptr, 16) == port)
                found.insert("socket:[" + field[9] + "]");
        }
    }
    return found;
}

bool has_one_of(const fs::path &process, const std::set<std::string> &sockets) {
    std::error_code error;
    for (const auto &each : fs::directory_iterator(process / "fd", error)) {
        if (sockets.contains(fs::read_symlink(each.path(), error).string()))
            return true;
    }
    return false;
}

// "prometheus (1234)", or "another program" where that can't be seen.
std::string who_has(unsigned port) {
    std::set<std::string> sockets = sockets_on(port);
    std::error_code error;
    for (const auto &each : fs::directory_iterator("/proc", error)) {
        std::string name = each.path().filename(), program;
        if (name.find_first_not_of("0123456789") != std::string::npos || !has_one_of(each.path(), sockets))
            continue;
        std::ifstream comm(each.path() / "comm");
        std::getline(comm, program);
        return fmt::format("{} ({})", program, name);
    }
    return "another program";
}

std::string why_refused(int error, unsigned port) {
    switch (error) {
    case EADDRINUSE: return fmt::format("{} has the port", who_has(port));
    case EADDRNOTAVAIL: return "the address is not this machine's";
    case EACCES: return "ports below 1024 are for root";
    default: return std::strerror(error);
    }
}

using addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

addresses addresses_of(std::string host, const std::string &port) {
    if (host.starts_with("[") && host.ends_with("]"))
        host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if (int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found))
        throw not_listening(fmt::format("'{}' is no address: {}", host, gai_strerror(error)));
    return {found, freeaddrinfo};
}

} // namespace

descriptor listen_on(const std::string &address) {
    std::size_t colon = address.rfind(':');
    std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
    std::string port_text = colon == std::string::npos ? address : address.substr(colon + 1);
    unsigned port = 0;
    auto [end, bad] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (bad != std::errc() || *end != '\0' || port == 0 || port > 65535)
        throw not_listening(fmt::format("'{}' is no port", port_text));
    addresses at = addresses_of(host, port_text);
    descriptor listening(socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    int yes = 1;
    if (!listening || setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(listening.get(), at->ai_addr, at->ai_addrlen) != 0 || listen(listening.get(), SOMAXCONN) != 0)
        throw not_listening(why_refused(errno, port));
    return listening;
}

} // namespace holdfast::cli
