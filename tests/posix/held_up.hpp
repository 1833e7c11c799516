// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that is held up in a signal handler, as collectors of garbage hold threads up.
#pragma once

#include <atomic>
#include <csignal>
#include <unistd.h>

#include "threads_and_processes.hpp"

namespace holdfast::test {

// While it is there, SIGUSR2 holds threads up. Only one at a time can be there.
class holding_up {
public:
    holding_up() {
        held_up_ = let_go_ = false;
        struct sigaction action {};
        action.sa_handler = stay;
        sigaction(SIGUSR2, &action, &before_);
    }
    holding_up(const holding_up &) = delete;
    holding_up &operator=(const holding_up &) = delete;
    ~holding_up() {
        let_go_ = true;
        sigaction(SIGUSR2, &before_, nullptr);
    }

    // Returns when the thread is in the handler; it stays there until let_go().
    void hold_up(pthread_t thread) {
        held_up_ = let_go_ = false;
        pthread_kill(thread, SIGUSR2);
        EXPECT_TRUE(eventually([] { return held_up_.load(); }));
    }
    void let_go() { let_go_ = true; }

private:
    static void stay(int) {
        held_up_ = true;
        while (!let_go_)
            usleep(1000);
    }

    inline static std::atomic<bool> held_up_, let_go_;
    struct sigaction before_ {};
};

} // namespace holdfast::test
