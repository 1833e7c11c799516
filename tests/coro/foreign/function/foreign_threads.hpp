// SPDX-License-Identifier: MIT OR Apache-2.0
// A plain pool of functions, as programs have them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "holdfast/coro/executors/posting_executor.hpp"

class function_pool {
public:
    explicit function_pool(unsigned count) {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~function_pool() {
        {
            std::lock_guard held(lock_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread &one : threads_)
            one.join();
    }
    void post(std::function<void()> one) {
        {
            std::lock_guard held(lock_);
            ready_.push_back(std::move(one));
        }
        changed_.notify_one();
    }

private:
    void work() {
        std::unique_lock held(lock_);
        for (;;) {
            changed_.wait(held, [this] { return over_ || !ready_.empty(); });
            if (over_)
                return;
            std::function<void()> one = std::move(ready_.front());
            ready_.pop_front();
            held.unlock();
            one();
            one = nullptr;
            held.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> ready_;
    bool over_ = false;
    std::vector<std::thread> threads_;
};

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : threads_(count),
          on_([this](holdfast::coro::posting_executor::ticket one) { threads_.post(std::move(one)); }, options) {}
    auto &on() { return on_; }

private:
    function_pool threads_;
    holdfast::coro::posting_executor on_;
};
