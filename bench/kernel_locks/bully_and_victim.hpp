// SPDX-License-Identifier: MIT OR Apache-2.0
// Two threads that do the same kind of call again and again, for which the kernel takes one lock: the bully's takes
// long, the victim's does not. For each of them: how many calls, what they took, and for how long the thread has had
// the lock and was kept from it, where the kernel says so (kernel/patches/0002 and 0005). Lines of a name and values.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "harness/run_for.hpp"

namespace holdfast::bench {

[[noreturn]] inline void fail(const std::string &what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// One of the two, and what came of it.
struct contender {
    std::string name;
    std::function<bool()> call; // false: it has failed, and errno says why
    std::vector<std::uint64_t> took_ns = {};
    std::uint64_t ran_ns = 0;
    std::optional<std::uint64_t> held_ns = {}, waited_ns = {};
    int failed = 0; // errno
};

// What the kernel says of the calling thread under that name.
inline std::optional<std::uint64_t> own_status(const std::string &key) {
    std::ifstream status("/proc/thread-self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ":"))
            return std::stoull(line.substr(key.size() + 1));
    return std::nullopt;
}

inline void call_until(contender &self, const std::string &lock, const std::atomic<bool> &over) {
    using steady = std::chrono::steady_clock;
    auto ns_since = [](steady::time_point then) {
        return static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(steady::now() - then).count());
    };
    auto first = steady::now();
    while (!over) {
        auto began = steady::now();
        if (!self.call()) {
            self.failed = errno;
            return;
        }
        self.took_ns.push_back(ns_since(began));
    }
    self.ran_ns = ns_since(first);
    self.held_ns = own_status(lock + "_held_ns");
    self.waited_ns = own_status(lock + "_waited_ns");
}

inline void print(contender &one) {
    auto &took = one.took_ns;
    if (one.failed)
        throw std::runtime_error(fmt::format("a call of the {} failed: {}", one.name, std::strerror(one.failed)));
    if (took.empty())
        throw std::runtime_error(one.name + " has done nothing: let it have more seconds");
    std::sort(took.begin(), took.end());
    auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e9; };
    fmt::print("{}.calls {}\n{}.seconds {:.6f}\n", one.name, took.size(), one.name, seconds(one.ran_ns));
    if (one.held_ns && one.waited_ns)
        fmt::print("{}.held_seconds {:.6f}\n{}.waited_seconds {:.6f}\n", one.name, seconds(*one.held_ns), one.name,
                   seconds(*one.waited_ns));
    // The distribution in a thousand steps.
    fmt::print("{}.us", one.name);
    for (std::size_t step = 0; step <= 1000; step++)
        fmt::print(" {:.1f}", static_cast<double>(took[step * (took.size() - 1) / 1000]) / 1e3);
    fmt::print("\n");
}

// `lock`: its name in /proc/PID/status.
inline void measure(std::array<contender, 2> &both, const std::string &lock, double seconds) {
    std::vector<timed_body> bodies;
    for (auto &one : both) {
        one.took_ns.reserve(1 << 20);
        bodies.emplace_back([&](const std::atomic<bool> &over) { call_until(one, lock, over); });
    }
    run_for(seconds, bodies);
    for (auto &one : both)
        print(one);
}

} // namespace holdfast::bench
