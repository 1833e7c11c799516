// SPDX-License-Identifier: MIT OR Apache-2.0
// Open-loop load for memcached: requests go out by the clock, whatever the answers do, and each latency counts from the
// moment that the request was due. Ten GETs to a SET, keys of 128 bytes and values of 2048, each answer compared.
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <deque>
#include <fmt/core.h>
#include <memory>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "programs/program.hpp"

namespace {

using namespace holdfast::bench;
using clock_type = std::chrono::steady_clock;

constexpr unsigned keys = 1000, key_bytes = 128, value_bytes = 2048, gets_for_a_set = 10;

struct options {
    unsigned port = 11211, connections = 32, rate = 5000;
    double seconds = 2;
};

struct request {
    std::string sent, answer;
};

request set_request(unsigned number) {
    std::string key = fmt::format("{:0{}}", number, key_bytes), value = fmt::format("{:0{}}", number, value_bytes);
    return {fmt::format("set {} 0 0 {}\r\n{}\r\n", key, value_bytes, value), "STORED\r\n"};
}

request get_request(unsigned number) {
    std::string key = fmt::format("{:0{}}", number, key_bytes), value = fmt::format("{:0{}}", number, value_bytes);
    return {fmt::format("get {}\r\n", key), fmt::format("VALUE {} 0 {}\r\n{}\r\nEND\r\n", key, value_bytes, value)};
}

[[noreturn]] void fail(const char *call) {
    throw std::system_error(errno, std::generic_category(), call);
}

// Answers come in the order of the requests.
class connection {
public:
    explicit connection(unsigned port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (socket_ < 0 || connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
            fail("can't connect to memcached");
        int on = 1;
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~connection() { close(socket_); }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    pollfd watched() const { return {socket_, static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0}; }
    bool is_waiting() const { return !pending_.empty(); }

    void ask(const request &what, clock_type::time_point due) {
        unsent_ += what.sent;
        pending_.push_back({&what.answer, due});
        send_more();
    }

    void send_more() {
        ssize_t sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            fail("can't send to memcached");
        unsent_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }

    void read_answers(std::vector<double> &latencies_us) {
        char bytes[65536];
        ssize_t count = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN)
            return;
        expect(count > 0, "memcached has ended the connection");
        read_.append(bytes, static_cast<std::size_t>(count));
        std::size_t at = 0;
        while (is_waiting() && read_.size() - at >= pending_.front().answer->size()) {
            const auto &[answer, due] = pending_.front();
            expect(read_.compare(at, answer->size(), *answer) == 0, "memcached's answer is wrong");
            latencies_us.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due).count());
            at += answer->size();
            pending_.pop_front();
        }
        read_.erase(0, at);
    }

private:
    struct pending {
        const std::string *answer;
        clock_type::time_point due;
    };
    int socket_;
    std::string unsent_, read_;
    std::deque<pending> pending_;
};

class load {
public:
    explicit load(const options &wanted) : wanted_(wanted) {
        for (unsigned number = 0; number < keys; number++) {
            sets_.push_back(set_request(number));
            gets_.push_back(get_request(number));
        }
        for (unsigned i = 0; i < wanted.connections; i++)
            connections_.push_back(std::make_unique<connection>(wanted.port));
        std::vector<double> ignored;
        for (const request &one : sets_) {
            connections_[0]->ask(one, clock_type::now());
            while (connections_[0]->is_waiting())
                serve(clock_type::now() + std::chrono::seconds(1), ignored);
        }
    }

    void run() {
        random_numbers random(1);
        auto count = static_cast<std::uint64_t>(wanted_.rate * wanted_.seconds);
        clock_type::time_point begin = clock_type::now();
        for (std::uint64_t number = 0; number < count; number++) {
            auto due = begin + std::chrono::nanoseconds(number * 1'000'000'000 / wanted_.rate);
            while (clock_type::now() < due)
                serve(due, latencies_us_);
            lateness_us_.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due).count());
            const auto &kind = number % (gets_for_a_set + 1) == 0 ? sets_ : gets_;
            connections_[number % connections_.size()]->ask(kind[random.next() % keys], due);
        }
        while (latencies_us_.size() < count)
            serve(clock_type::now() + std::chrono::seconds(1), latencies_us_);
    }

    void print() {
        for (auto [name, times] : {std::pair{"latency", &latencies_us_}, std::pair{"sent-late", &lateness_us_}}) {
            std::sort(times->begin(), times->end());
            for (unsigned percent : {50, 95, 99})
                fmt::print("{}-p{} : {:.0f} us\n", name, percent, (*times)[(times->size() - 1) * percent / 100]);
        }
    }

private:
    // Reads what comes until then, and returns after something has.
    void serve(clock_type::time_point until, std::vector<double> &latencies_us) {
        std::vector<pollfd> watched;
        for (const auto &one : connections_)
            watched.push_back(one->watched());
        auto left = std::max<std::int64_t>(std::chrono::nanoseconds(until - clock_type::now()).count(), 0);
        timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        if (ppoll(watched.data(), watched.size(), &timeout, nullptr) < 0 && errno != EINTR)
            fail("poll");
        for (std::size_t i = 0; i < watched.size(); i++) {
            if (watched[i].revents & POLLOUT)
                connections_[i]->send_more();
            if (watched[i].revents & ~POLLOUT)
                connections_[i]->read_answers(latencies_us);
        }
    }

    options wanted_;
    std::vector<request> sets_, gets_;
    std::vector<std::unique_ptr<connection>> connections_;
    std::vector<double> latencies_us_, lateness_us_;
};

} // namespace

int main(int argc, char **argv) {
    options wanted;
    command_line line{
        .name = "memcached-open-loop",
        .summary =
            "Sends requests to memcached at a fixed rate, and prints how long after they were due they were done.",
        .options = {{"--port", wanted.port, 1, 65535, "Where memcached listens, on this machine"},
                    {"--connections", wanted.connections, 1, 1000, "That take turns"},
                    {"--rate", wanted.rate, 1, 1'000'000, "Requests a second"},
                    {"--seconds", wanted.seconds, 0.001, 86400, "How long it runs"}},
        .footer = "Example: memcached-open-loop --rate 10000, beside memcached -t 8",
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return run_checked(line.name, [&] {
        load all(wanted);
        all.run();
        all.print();
    });
}
