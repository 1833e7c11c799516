// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/metrics_endpoint.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fmt/core.h>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"
#include "cli/common/exit_status.hpp"
#include "cli/monitor/tcp_listener.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t visit_ns = 1'000'000'000;
constexpr std::size_t request_bytes_max = 8192;
constexpr int pause_ms = 100; // when no visitor can be let in: no descriptors are left, say

struct answer {
    const char *status;
    std::string content;
};

// Of one connection.
class visit {
public:
    explicit visit(descriptor from) : connection_(std::move(from)), ends_ns_(hf_monotonic_ns() + visit_ns) {}

    // Its first line; empty: it did not come, or did not end.
    std::string request() {
        std::string text;
        while (text.find("\r\n\r\n") == std::string::npos && text.find("\n\n") == std::string::npos) {
            std::array<char, 1024> piece{};
            ssize_t got = can(POLLIN) ? recv(connection_.get(), piece.data(), piece.size(), 0) : -1;
            if (got <= 0 || text.size() + static_cast<std::size_t>(got) > request_bytes_max)
                return "";
            text.append(piece.data(), static_cast<std::size_t>(got));
        }
        return text.substr(0, text.find_first_of("\r\n"));
    }

    void send(std::string_view text) {
        while (!text.empty() && can(POLLOUT)) {
            ssize_t sent = ::send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR)
                return;
            text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        }
    }

private:
    bool can(short what) const {
        std::uint64_t now_ns = hf_monotonic_ns();
        pollfd state{.fd = connection_.get(), .events = what, .revents = 0};
        return now_ns < ends_ns_ && poll(&state, 1, static_cast<int>((ends_ns_ - now_ns) / 1'000'000) + 1) > 0;
    }

    descriptor connection_;
    std::uint64_t ends_ns_;
};

answer answer_to(std::string_view request, const std::function<std::string()> &page) {
    std::string_view method = request.substr(0, request.find(' '));
    std::string_view rest = request.substr(std::min(method.size() + 1, request.size()));
    std::string_view path = rest.substr(0, rest.find_first_of(" ?"));
    if (method != "GET" && method != "HEAD")
        return {.status = "405 Method Not Allowed", .content = "GET it\n"};
    if (path != "/metrics")
        return {.status = "404 Not Found", .content = "the figures are at /metrics\n"};
    try {
        return {.status = "200 OK", .content = page()};
    } catch (const std::exception &error) {
        return {.status = "500 Internal Server Error", .content = sentence_of(error) + "\n"};
    }
}

void receive(descriptor from, const std::function<std::string()> &page) {
    visit one(std::move(from));
    std::string request = one.request();
    if (request.empty())
        return;
    answer made = answer_to(request, page);
    one.send(fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                         "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                         made.status, made.content.size(), request.starts_with("HEAD ") ? "" : made.content));
}

descriptor listener_on(const std::string &address) {
    try {
        return listen_on(address);
    } catch (const not_listening &why) {
        throw failure(
            fmt::format("metrics can't be served on {}: {}: choose another --metrics HOST:PORT", address, why.what()));
    }
}

} // namespace

struct metrics_endpoint::serving {
    descriptor listener;
    std::function<std::string()> page;
    descriptor over{eventfd(0, EFD_CLOEXEC)};
    std::thread thread;

    void run() const {
        for (;;) {
            std::array<pollfd, 2> events = {pollfd{over.get(), POLLIN, 0}, pollfd{listener.get(), POLLIN, 0}};
            poll(events.data(), events.size(), -1);
            if (events[0].revents != 0)
                return;
            descriptor from(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (from)
                receive(std::move(from), page);
            else if (errno != EAGAIN && errno != ECONNABORTED)
                poll(events.data(), 1, pause_ms);
        }
    }
};

metrics_endpoint::metrics_endpoint(const std::string &address, std::function<std::string()> page)
    : serving_(new serving{.listener = listener_on(address), .page = std::move(page), .thread = {}}) {
    signals_blocked in_the_thread;
    serving_->thread = std::thread([this] { serving_->run(); });
}

metrics_endpoint::~metrics_endpoint() {
    eventfd_write(serving_->over.get(), 1);
    serving_->thread.join();
}

} // namespace holdfast::cli
