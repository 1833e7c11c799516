// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/port_owner.hpp"

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

#include "base/descriptor.hpp"

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

// 0 or an errno.
int try_to_listen(const addrinfo &at) {
    descriptor probe(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int yes = 1;
    if (!probe)
        return errno;
    setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(probe.get(), at.ai_addr, at.ai_addrlen) == 0 && listen(probe.get(), 1) == 0 ? 0 : errno;
}

} // namespace

std::string why_not_listening(const std::string &address) {
    std::size_t colon = address.rfind(':');
    std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
    std::string port_text = colon == std::string::npos ? address : address.substr(colon + 1);
    unsigned port = 0;
    auto [end, bad] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (bad != std::errc() || *end != '\0' || port == 0 || port > 65535)
        return fmt::format("'{}' is no port", port_text);
    if (host.starts_with("[") && host.ends_with("]"))
        host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), port_text.c_str(), &hints, &found);
    if (error)
        return fmt::format("'{}' is no address: {}", host, gai_strerror(error));
    std::unique_ptr<addrinfo, void (*)(addrinfo *)> owned(found, freeaddrinfo);
    switch (int refused = try_to_listen(*found)) {
    case 0: return "";
    case EADDRINUSE: return fmt::format("{} has the port", who_has(port));
    case EADDRNOTAVAIL: return "the address is not this machine's";
    case EACCES: return "ports below 1024 are for root";
    default: return std::strerror(refused);
    }
}

} // namespace holdfast::cli
