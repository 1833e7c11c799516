// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::timed_mutex, as mutex.hpp. A waiter with a deadline stays with its thread's scheduler.
#pragma once

#include <boost/fiber/detail/convert.hpp>
#include <chrono>

#include "holdfast/fibers/detail/owned_lock.hpp"

namespace holdfast::fibers {

class timed_mutex {
public:
    // As those of mutex.
    void lock() {
        detail::context *self = detail::context::active();
        if (lock_.is_of(self))
            detail::deadlock();
        lock_.acquire(self);
    }
    bool try_lock() {
        detail::context *self = detail::context::active();
        if (lock_.is_of(self))
            detail::deadlock();
        return lock_.try_acquire_or_yield(self);
    }
    void unlock() { lock_.release(detail::context::active()); }

    // False when the time was over before the caller got it: also for the owner itself. A free mutex is taken although
    // the time is over.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until) {
        return lock_.acquire_until(detail::context::active(), boost::fibers::detail::convert(until));
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &wait) {
        return try_lock_until(std::chrono::steady_clock::now() + wait);
    }

private:
    detail::owned_lock lock_;
};

} // namespace holdfast::fibers
