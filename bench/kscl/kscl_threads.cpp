// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads with nice values and sections of their own that share a lock of the kernel's, by the device of
// kernel/kscl_bench.c. Prints for each of them how often and for how long it has had the lock, and how long it waited.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "harness/command_line.hpp"
#include "harness/run_for.hpp"
#include "kernel/kscl_bench.h"

namespace {

using steady = std::chrono::steady_clock;

constexpr const char *device = "/dev/kscl_bench";

// A thread, and what came of it.
struct user {
    int nice = 0;
    std::uint64_t inside_us = 0, outside_us = 0;
    std::uint64_t held_ns = 0;
    std::vector<std::uint64_t> waited_ns;
    std::string failed;
};

user user_of(const std::string &text) {
    user one;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d:%lu:%lu%c", &one.nice, &one.inside_us, &one.outside_us, &rest) != 3)
        throw std::runtime_error(
            fmt::format("'{}' is no thread: say NICE:INSIDE_US:OUTSIDE_US, such as 0:100:0", text));
    return one;
}

void be_busy(std::uint64_t us) {
    for (auto end = steady::now() + std::chrono::microseconds(us); steady::now() < end;)
        ;
}

void use_until(user &self, int file, unsigned long request, const std::atomic<bool> &over) {
    if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), self.nice) != 0) {
        self.failed = fmt::format("nice {}: {}", self.nice, std::strerror(errno));
        return;
    }
    while (!over) {
        kscl_bench_section section{.busy_ns = self.inside_us * 1000, .waited_ns = 0, .held_ns = 0};
        if (ioctl(file, request, &section) != 0) {
            self.failed = fmt::format("{}: {}", device, std::strerror(errno));
            return;
        }
        self.held_ns += section.held_ns;
        self.waited_ns.push_back(section.waited_ns);
        be_busy(self.outside_us);
    }
}

void print(std::vector<user> &users, double seconds) {
    fmt::print("{:>5} {:>10} {:>11} {:>9} {:>7} {:>10} {:>10} {:>10}\n", "nice", "inside us", "outside us", "sections",
               "holds", "p50 us", "p99 us", "max us");
    for (auto &one : users) {
        auto &waited = one.waited_ns;
        if (waited.empty())
            throw std::runtime_error("a thread has not had the lock: let them have more seconds");
        std::sort(waited.begin(), waited.end());
        auto at = [&](std::size_t percent) {
            return static_cast<double>(waited[percent * (waited.size() - 1) / 100]) / 1e3;
        };
        fmt::print("{:>5} {:>10} {:>11} {:>9} {:>6.1f}% {:>10.0f} {:>10.0f} {:>10.0f}\n", one.nice, one.inside_us,
                   one.outside_us, waited.size(), static_cast<double>(one.held_ns) / 1e7 / seconds, at(50), at(99),
                   at(100));
    }
}

void measure(unsigned long request, const std::vector<std::string> &texts, double seconds) {
    std::vector<user> users;
    for (const auto &text : texts)
        users.push_back(user_of(text));
    int file = open(device, O_RDWR | O_CLOEXEC);
    if (file < 0)
        throw std::system_error(errno, std::generic_category(),
                                std::string(device) + " can't be opened (kscl_bench.ko makes it)");
    std::vector<holdfast::bench::timed_body> bodies;
    for (auto &one : users)
        bodies.emplace_back(
            [&one, file, request](const std::atomic<bool> &over) { use_until(one, file, request, over); });
    double passed = holdfast::bench::run_for(seconds, bodies);
    close(file);
    for (const auto &one : users)
        if (!one.failed.empty())
            throw std::runtime_error(one.failed);
    print(users, passed);
}

} // namespace

int main(int argc, char **argv) {
    std::string lock = "kscl";
    double seconds = 5;
    std::vector<std::string> texts;
    holdfast::bench::command_line line{
        .name = "kscl-threads",
        .summary = "Threads that share a lock of the kernel's.",
        .options = {{"--lock", lock, {"kscl", "mutex"}, "Which"},
                    {"--seconds", seconds, 0.001, 86400, "How long they use it"},
                    {"thread", texts, "A thread: NICE:INSIDE_US:OUTSIDE_US"}},
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return holdfast::bench::run_checked(
        line.name, [&] { measure(lock == "kscl" ? KSCL_BENCH_KSCL : KSCL_BENCH_MUTEX, texts, seconds); });
}
