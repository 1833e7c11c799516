// SPDX-License-Identifier: MIT OR Apache-2.0
// A counting semaphore, first come, first served.
//
// coro.S1  Permits are not lost and not made: those that are free, plus those given to waiters, are those released.
// coro.S2  While somebody waits, no permit is free.
// Model: verify/coro/semaphore.pml. Test: tests/coro/primitives_test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/coro/detail/waited_on.hpp"
#include "holdfast/coro/guard.hpp"

namespace holdfast::coro {

template <policy Policy>
class [[nodiscard]] basic_semaphore : public detail::waited_on<basic_semaphore<Policy>> {
    struct permit_mode;
    using endless = detail::wait_for_ever<basic_semaphore>;
    using within_limits = detail::wait_within_limits<basic_semaphore>;

public:
    using scoped_permit_type = detail::guard<basic_semaphore, permit_mode>;

    explicit basic_semaphore(std::size_t permits) noexcept : free_(permits) {
        detail::require(permits <= permits_max,
                        "a semaphore begins with more permits than it can count, or with a negative "
                        "number");
    }

    // co_await s.acquire(); with a limit: false when that was reached first. O(1).
    [[nodiscard]] auto acquire() noexcept { return endless(*this, 0); }
    [[nodiscard]] auto acquire(std::stop_token token) {
        return within_limits(*this, 0, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_acquire_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_acquire_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_acquire_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return within_limits(*this, 0, {deadline, std::move(token)});
    }
    // auto permit = co_await s.scoped_acquire(); ... co_await permit.unlock(); Else the destructor gives it back.
    // With a limit: the guard is empty, `if (permit)`, when that was reached first.
    [[nodiscard]] auto scoped_acquire() noexcept { return detail::guarded<endless, scoped_permit_type>(*this, 0); }
    [[nodiscard]] auto scoped_acquire(std::stop_token token) {
        return detail::guarded<within_limits, scoped_permit_type>(*this, 0,
                                                                  wait_limits{std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_scoped_acquire_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_scoped_acquire_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_scoped_acquire_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return detail::guarded<within_limits, scoped_permit_type>(*this, 0, wait_limits{deadline, std::move(token)});
    }
    [[nodiscard]] bool try_acquire() noexcept {
        spin_lock held(this->guard_);
        return take(nullptr);
    }

    // co_await s.release(n): one waiter goes on here (CES), the others are scheduled. O(n).
    [[nodiscard]] auto release(std::size_t permits = 1) noexcept {
        auto operation = [this, permits](wait_list &chosen) noexcept { give(permits, chosen); };
        return detail::giving<Policy, decltype(operation)>(operation);
    }
    // The same from where nothing can be awaited, on any thread.
    void release_unsuspended(std::size_t permits = 1) noexcept {
        wait_list chosen;
        give(permits, chosen);
        schedule_owners<Policy>(chosen);
    }

private:
    friend class detail::waited_on<basic_semaphore>;
    // Of its guard, one permit.
    struct permit_mode {
        static auto unlock(basic_semaphore &of) noexcept { return of.release(); }
        static void give_back(basic_semaphore &of) noexcept { of.release_unsuspended(); }
    };
    static constexpr primitive_kind observed_as = primitive_kind::semaphore;
    static constexpr std::size_t permits_max = PTRDIFF_MAX;

    bool take(const waiter *) noexcept {
        if (free_ == 0)
            return false;
        free_--;
        return true;
    }
    void give(std::size_t permits, wait_list &chosen) noexcept {
        spin_lock held(this->guard_);
        detail::require(permits <= permits_max - free_, "a semaphore has more permits than it can count: release what "
                                                        "was acquired, and begin with no negative number");
        free_ += permits;
        while (free_ > 0) {
            waiter *one = this->waiters_.choose();
            if (!one)
                return;
            free_--;
            chosen.append(*one);
        }
    }
    void give_back(const waiter &) noexcept { release_unsuspended(1); }
    void someone_left() noexcept {}

    std::size_t free_;
};

using counting_semaphore = basic_semaphore<policy::ces>;

} // namespace holdfast::coro
