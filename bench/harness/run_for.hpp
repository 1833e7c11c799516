// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that each do something of their own until the time is over; thread_team.hpp has those that all do the same
// with locks of programs, and times them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace holdfast::bench {

using timed_body = std::function<void(const std::atomic<bool> &over)>;

// Runs each in a thread, from one moment on. Returns after how many seconds they were told that it is over; by then
// they have ended.
inline double run_for(double seconds, const std::vector<timed_body> &bodies) {
    std::atomic<bool> over = false;
    std::latch begin(static_cast<std::ptrdiff_t>(bodies.size()) + 1);
    std::vector<std::thread> threads;
    for (const timed_body &body : bodies)
        threads.emplace_back([&] {
            begin.arrive_and_wait();
            body(over);
        });
    begin.arrive_and_wait();
    auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    over = true;
    double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (std::thread &thread : threads)
        thread.join();
    return passed;
}

} // namespace holdfast::bench
