// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that take a lock again and again under forced preemption: signals whose handlers give the CPU away in the
// middle of anything. A lost wake-up shows as a thread that makes no progress, a double owner as a count that does not
// add up.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

#include "base/atomic.h"

namespace holdfast::test {

// What the lock protects: two plain integers that must stay equal.
struct alignas(64) protected_pair {
    unsigned long first = 0;
    char gap[64];
    unsigned long second = 0;

    void touch() {
        ASSERT_EQ(first, second) << "two owners";
        first++;
        hf_program_order();
        second++;
    }
};

// Preempts the team while it lives.
class preemption {
public:
    explicit preemption(std::vector<std::thread> &team) : team_(team) {
        struct sigaction action {};
        action.sa_handler = give_cpu_away;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, nullptr);
        thread_ = std::thread([this] {
            for (unsigned turn = 0; !stop_; turn++) {
                pthread_kill(team_[turn % team_.size()].native_handle(), SIGUSR1);
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        });
    }
    ~preemption() {
        stop_ = true;
        thread_.join();
    }

private:
    static void give_cpu_away(int) {
        int saved_errno = errno;
        sched_yield();
        errno = saved_errno;
    }

    std::vector<std::thread> &team_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

class preempted_team {
public:
    explicit preempted_team(int runs) : runs_(runs) {}

    // Each thread repeats `once(its number)`. Checks after each run that all who went in came out.
    void run(const char *lock, const std::function<void(int)> &once) const {
        for (int run = 0; run < runs_; run++)
            run_once(lock, once);
    }

private:
    static constexpr int size = 8;
    static constexpr std::chrono::milliseconds run_time{40};
    static constexpr std::chrono::seconds stuck_time{120}; // for threads that only have to get through once more

    static void run_once(const char *lock, const std::function<void(int)> &once) {
        std::atomic<bool> stop = false;
        std::atomic<int> out = 0;
        std::vector<std::thread> team;
        for (int member = 0; member < size; member++)
            team.emplace_back([&, member] {
                while (!stop)
                    once(member);
                out++;
            });
        {
            // A lost wake-up shows only when nobody comes by any more. The signals have to end first: one that
            // interrupts a sleeper makes it look at the word again, which would mend what was lost.
            preemption preempting(team);
            std::this_thread::sleep_for(run_time);
        }
        stop = true;
        auto give_up = std::chrono::steady_clock::now() + stuck_time;
        while (out != size && std::chrono::steady_clock::now() < give_up)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (out != size) {
            std::fprintf(stderr, "%d of %d threads are stuck in %s: a lost wake-up\n", size - out, size, lock);
            std::abort();
        }
        for (auto &thread : team)
            thread.join();
    }

    int runs_;
};

} // namespace holdfast::test
