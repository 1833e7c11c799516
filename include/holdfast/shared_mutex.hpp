// SPDX-License-Identifier: MIT OR Apache-2.0
// The C++ face of RW-SCL: SharedTimedMutex but for time points of clocks other than system_clock and steady_clock; so
// std::shared_lock, std::unique_lock and std::scoped_lock take it. C++11 and later.
#ifndef HOLDFAST_SHARED_MUTEX_HPP
#define HOLDFAST_SHARED_MUTEX_HPP

#include <chrono>
#include <type_traits>

#include "holdfast/deadline.hpp"
#include "holdfast/rwscl.h"

namespace holdfast {

// Not copyable, not movable; constant-initialised, so that it can be a global used by other globals' constructors.
class rwscl_shared_mutex {
public:
    using native_handle_type = hf_rwscl_t *;

    constexpr rwscl_shared_mutex() noexcept = default;
    rwscl_shared_mutex(const rwscl_shared_mutex &) = delete;
    rwscl_shared_mutex &operator=(const rwscl_shared_mutex &) = delete;

    void lock() noexcept { hf_rwscl_write_lock(&native_); }
    HF_NODISCARD bool try_lock() noexcept { return hf_rwscl_write_trylock(&native_); }
    void unlock() noexcept { hf_rwscl_write_unlock(&native_); }

    void lock_shared() noexcept { hf_rwscl_read_lock(&native_); }
    HF_NODISCARD bool try_lock_shared() noexcept { return hf_rwscl_read_trylock(&native_); }
    void unlock_shared() noexcept { hf_rwscl_read_unlock(&native_); }

    template <class Clock, class Duration>
    HF_NODISCARD bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept {
        timespec at = detail::timespec_of(time.time_since_epoch());
        return hf_rwscl_write_clocklock(&native_, clock_of<Clock>(), &at) == 0;
    }
    template <class Clock, class Duration>
    HF_NODISCARD bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time) noexcept {
        timespec at = detail::timespec_of(time.time_since_epoch());
        return hf_rwscl_read_clocklock(&native_, clock_of<Clock>(), &at) == 0;
    }
    template <class Rep, class Period>
    HF_NODISCARD bool try_lock_for(const std::chrono::duration<Rep, Period> &time) noexcept {
        return try_lock_until(detail::after(time));
    }
    template <class Rep, class Period>
    HF_NODISCARD bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time) noexcept {
        return try_lock_shared_until(detail::after(time));
    }

    HF_NODISCARD native_handle_type native_handle() noexcept { return &native_; }

private:
    template <class Clock>
    static constexpr int clock_of() {
        static_assert(std::is_same<Clock, std::chrono::system_clock>::value ||
                          std::is_same<Clock, std::chrono::steady_clock>::value,
                      "waits are measured on system_clock or steady_clock");
        return detail::clock_id<Clock>::value;
    }

    hf_rwscl_t native_{};
};

} // namespace holdfast

#endif
