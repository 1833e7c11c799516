// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that work off what they are given, first in, first out; what is left at the end is dropped.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

template <class Item>
class worker_threads {
public:
    using function = std::function<void(Item)>;

    worker_threads(unsigned count, function run, function drop) : run_(std::move(run)), drop_(std::move(drop)) {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~worker_threads() {
        {
            std::lock_guard held(lock_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread &one : threads_)
            one.join();
        for (Item &one : ready_)
            drop_(std::move(one));
    }
    void give(Item one) {
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
            Item one = std::move(ready_.front());
            ready_.pop_front();
            held.unlock();
            run_(std::move(one));
            held.lock();
        }
    }

    function run_, drop_;
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<Item> ready_;
    bool over_ = false;
    std::vector<std::thread> threads_;
};
