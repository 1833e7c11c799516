// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::recursive_timed_mutex, as timed_mutex.hpp.
#pragma once

#include <boost/fiber/detail/convert.hpp>
#include <chrono>

#include "holdfast/fibers/detail/recursive_lock.hpp"

namespace holdfast::fibers {

class recursive_timed_mutex : public detail::recursive_lock {
public:
    // False when the time was over before the caller got it.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until) {
        return acquire_until(boost::fibers::detail::convert(until));
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &wait) {
        return try_lock_until(std::chrono::steady_clock::now() + wait);
    }
};

} // namespace holdfast::fibers
