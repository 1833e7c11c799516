// SPDX-License-Identifier: MIT OR Apache-2.0
// How a fiber waits until a time: with Boost's own primitives, whose sleep queue belongs to one thread. Such a waiter
// can't be resumed by another thread, so it needs nothing else.
#pragma once

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>
#include <chrono>
#include <mutex>

namespace holdfast::fibers::detail {

using deadline = std::chrono::steady_clock::time_point;

class parker {
public:
    // The last touch of the fiber that wakes is in the unlock, and the fiber that returns from wait() has had the mutex
    // after it.
    void wake() {
        std::lock_guard held(mutex_);
        woken_ = true;
        changed_.notify_one();
    }
    // False when the time was over first.
    bool wait_until(deadline until) {
        std::unique_lock held(mutex_);
        return changed_.wait_until(held, until, [this] { return woken_; });
    }
    void wait() {
        std::unique_lock held(mutex_);
        changed_.wait(held, [this] { return woken_; });
    }

private:
    boost::fibers::mutex mutex_;
    boost::fibers::condition_variable changed_;
    bool woken_ = false;
};

} // namespace holdfast::fibers::detail
