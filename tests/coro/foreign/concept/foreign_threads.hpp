// SPDX-License-Identifier: MIT OR Apache-2.0
// Another coroutine library's scheduler: it resumes handles and knows nothing else. What it never resumes it destroys.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "holdfast/coro/executors/adapted_executor.hpp"

class handle_scheduler {
public:
    explicit handle_scheduler(unsigned count) {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~handle_scheduler() {
        {
            std::lock_guard held(lock_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread &one : threads_)
            one.join();
        for (std::coroutine_handle<> one : ready_)
            one.destroy();
    }
    void schedule(std::coroutine_handle<> one) {
        {
            std::lock_guard held(lock_);
            ready_.push_back(one);
        }
        changed_.notify_one();
    }
    void schedule_remote(std::coroutine_handle<> one) { schedule(one); }

private:
    void work() {
        std::unique_lock held(lock_);
        for (;;) {
            changed_.wait(held, [this] { return over_ || !ready_.empty(); });
            if (over_)
                return;
            std::coroutine_handle<> one = ready_.front();
            ready_.pop_front();
            held.unlock();
            one.resume();
            held.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> ready_;
    bool over_ = false;
    std::vector<std::thread> threads_;
};

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : threads_(count), on_(threads_, options) {}
    auto &on() { return on_; }

private:
    handle_scheduler threads_;
    holdfast::coro::adapted_executor<handle_scheduler> on_;
};
