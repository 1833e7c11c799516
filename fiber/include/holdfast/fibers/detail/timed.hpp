// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock that can also be waited for until a time. A waiter with a deadline stays with its thread's scheduler.
#pragma once

#include <boost/fiber/detail/convert.hpp>
#include <chrono>

namespace holdfast::fibers::detail {

// Lock has acquire_until(deadline).
template <class Lock>
class timed : public Lock {
public:
    // False when the time was over before the caller got it. A free mutex is taken although the time is over.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until) {
        return this->acquire_until(boost::fibers::detail::convert(until));
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &wait) {
        return try_lock_until(std::chrono::steady_clock::now() + wait);
    }

protected:
    timed() = default;
    ~timed() = default;
};

} // namespace holdfast::fibers::detail
