// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that do nothing but want a CPU, in a process of their own. Prints "ready" once all run, and ends when killed.
#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <latch>
#include <system_error>
#include <thread>

#include "harness/command_line.hpp"

int main(int argc, char **argv) {
    unsigned threads = 1;
    holdfast::bench::command_line line{
        .name = "background-load",
        .summary = "Keeps CPUs busy until it is killed.",
        .options = {{"--threads", threads, 1, 10000, "Number of busy threads"}},
    };
    if (auto status = parse(line, argc, argv))
        return *status;

    std::latch running(threads);
    try {
        for (unsigned i = 0; i < threads; i++) {
            std::thread([&running] {
                running.count_down();
                for (volatile bool on = true; on;)
                    continue;
            }).detach();
        }
    } catch (const std::system_error &error) {
        fmt::print(stderr, "background-load: can't start {} threads: {}\n", threads, error.what());
        std::fflush(nullptr);
        std::_Exit(1); // the threads that were started would not let a tidy end come
    }
    running.wait();
    fmt::print("ready\n");
    std::fflush(stdout);
    for (;;)
        std::this_thread::sleep_for(std::chrono::hours(1));
}
