// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that run by themselves, and a thread that waits until the last of them has ended.
#pragma once

#include <condition_variable>
#include <mutex>

#include "holdfast/coro/spawn.hpp"

class gathering {
public:
    // The coroutine function's captures must outlive wait().
    void add(holdfast::coro::executor_base &on, holdfast::coro::task<> one) {
        {
            std::lock_guard held(lock_);
            running_++;
        }
        holdfast::coro::spawn(on, run(std::move(one)));
    }

    void wait() {
        std::unique_lock held(lock_);
        changed_.wait(held, [&] { return running_ == 0; });
    }

private:
    holdfast::coro::task<> run(holdfast::coro::task<> one) {
        co_await std::move(one);
        std::lock_guard held(lock_);
        if (--running_ == 0)
            changed_.notify_all();
    }

    std::mutex lock_;
    std::condition_variable changed_;
    int running_ = 0;
};
