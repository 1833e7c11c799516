// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ faces of the locks: Lockable, so that std::lock_guard, std::unique_lock, std::scoped_lock and
// std::condition_variable_any take them; the ones that can are TimedLockable too. C++11 and later.
#ifndef HOLDFAST_MUTEX_HPP
#define HOLDFAST_MUTEX_HPP

#include <chrono>

#include "holdfast/deadline.hpp"
#include "holdfast/holdfast.h"

namespace holdfast {

// A lock of Holdfast's as a class. Not copyable, not movable; constant-initialised, so that it can be a global used by
// other globals' constructors. As with std::mutex: destroying it while held, or locking it twice, is undefined.
template <class Native, void (*Lock)(Native *), bool (*TryLock)(Native *), void (*Unlock)(Native *)>
class basic_mutex {
public:
    using native_handle_type = Native *;

    constexpr basic_mutex() noexcept = default;
    basic_mutex(const basic_mutex &) = delete;
    basic_mutex &operator=(const basic_mutex &) = delete;

    void lock() noexcept { Lock(&native_); }
    HF_NODISCARD bool try_lock() noexcept { return TryLock(&native_); }
    void unlock() noexcept { Unlock(&native_); }

    HF_NODISCARD native_handle_type native_handle() noexcept { return &native_; }

private:
    Native native_{};
};

// The same with timed waits. try_lock_until takes any clock; waits are measured on CLOCK_REALTIME for
// std::chrono::system_clock and on CLOCK_MONOTONIC for all others.
template <class Native, void (*Lock)(Native *), bool (*TryLock)(Native *), void (*Unlock)(Native *),
          int (*ClockLock)(Native *, clockid_t, const timespec *)>
class basic_timed_mutex : public basic_mutex<Native, Lock, TryLock, Unlock> {
public:
    template <class Rep, class Period>
    HF_NODISCARD bool try_lock_for(const std::chrono::duration<Rep, Period> &time) {
        return try_lock_until(detail::after(time));
    }

    template <class Duration>
    HF_NODISCARD bool try_lock_until(const std::chrono::time_point<std::chrono::system_clock, Duration> &time) {
        return lock_before(CLOCK_REALTIME, time.time_since_epoch());
    }

    template <class Duration>
    HF_NODISCARD bool try_lock_until(const std::chrono::time_point<std::chrono::steady_clock, Duration> &time) {
        return lock_before(CLOCK_MONOTONIC, time.time_since_epoch());
    }

    // A clock of the caller's may be adjusted while we wait: it is asked again before we give up.
    template <class Clock, class Duration>
    HF_NODISCARD bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) {
        do {
            if (try_lock_for(time - Clock::now()))
                return true;
        } while (Clock::now() < time);
        return false;
    }

private:
    template <class Duration>
    bool lock_before(clockid_t clock, const Duration &since_epoch) {
        timespec deadline = detail::timespec_of(since_epoch);
        return ClockLock(this->native_handle(), clock, &deadline) == 0;
    }
};

// The one to use: FlexGuard.
using mutex = basic_timed_mutex<hf_flexguard_t, hf_flexguard_lock, hf_flexguard_trylock, hf_flexguard_unlock,
                                hf_flexguard_clocklock>;

using blocking_mutex =
    basic_timed_mutex<hf_blocking_t, hf_blocking_lock, hf_blocking_trylock, hf_blocking_unlock, hf_blocking_clocklock>;
using ttas_mutex = basic_timed_mutex<hf_ttas_t, hf_ttas_lock, hf_ttas_trylock, hf_ttas_unlock, hf_ttas_clocklock>;
using ticket_mutex = basic_mutex<hf_ticket_t, hf_ticket_lock, hf_ticket_trylock, hf_ticket_unlock>;
using uscl_mutex = basic_timed_mutex<hf_uscl_t, hf_uscl_lock, hf_uscl_trylock, hf_uscl_unlock, hf_uscl_clocklock>;
using mcs_mutex = basic_mutex<hf_mcs_t, hf_mcs_lock, hf_mcs_trylock, hf_mcs_unlock>;

} // namespace holdfast

#endif
