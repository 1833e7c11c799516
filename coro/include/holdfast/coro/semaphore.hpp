// SPDX-License-Identifier: MIT OR Apache-2.0
// A counting semaphore, first come, first served: a large request in front is not passed by small ones behind it.
//
// coro.S1  Permits are not lost and not made: those that are free, plus those given to waiters, are those released.
// coro.S2  While somebody waits, fewer permits are free than the first of them wants, or one that was before it has
//     just given up and is about to look for those behind it.
// coro.S3  Nobody gets a permit past one that waits.
// Model: verify/coro/semaphore.pml. Tests: tests/coro/primitives_test, tests/coro/many_permits_test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/coro/detail/waited_on.hpp"
#include "holdfast/coro/guard.hpp"

namespace holdfast::coro {

template <policy Policy>
class basic_scoped_permit;

template <policy Policy>
class [[nodiscard]] basic_semaphore : public detail::waited_on<basic_semaphore<Policy>> {
    using endless = detail::wait_for_ever<basic_semaphore>;
    using within_limits = detail::wait_within_limits<basic_semaphore>;

public:
    using scoped_permit_type = basic_scoped_permit<Policy>;

    explicit basic_semaphore(std::size_t permits) noexcept : free_(permits) {
        detail::require(permits <= permits_max,
                        "a semaphore begins with more permits than it can count, or with a negative "
                        "number");
    }

    // co_await s.acquire(n): so many at once, or none yet; with a limit: false when that was reached first. While it
    // waits for many, those who come later wait behind it, also for few. One that wants more than there will ever be
    // waits for ever. O(1); for a limit that is reached O(those behind it that are let go).
    [[nodiscard]] auto acquire(std::size_t permits = 1) noexcept { return endless(*this, checked(permits)); }
    [[nodiscard]] auto acquire(std::stop_token token) { return acquire(1, std::move(token)); }
    [[nodiscard]] auto acquire(std::size_t permits, std::stop_token token) {
        return within_limits(*this, checked(permits), {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_acquire_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_acquire_until(deadline_after(time), std::move(token));
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_acquire_for(std::size_t permits, std::chrono::duration<Rep, Period> time,
                                       std::stop_token token = {}) {
        return try_acquire_until(permits, deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_acquire_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return try_acquire_until(1, deadline, std::move(token));
    }
    [[nodiscard]] auto try_acquire_until(std::size_t permits, deadline_clock::time_point deadline,
                                         std::stop_token token = {}) {
        return within_limits(*this, checked(permits), {deadline, std::move(token)});
    }
    // auto permits = co_await s.scoped_acquire(n); ... co_await permits.unlock(); Else the destructor gives them back.
    // With a limit: the guard is empty, `if (permits)`, when that was reached first.
    [[nodiscard]] auto scoped_acquire(std::size_t permits = 1) noexcept {
        return detail::guarded<endless, scoped_permit_type>(*this, checked(permits));
    }
    [[nodiscard]] auto scoped_acquire(std::stop_token token) { return scoped_acquire(1, std::move(token)); }
    [[nodiscard]] auto scoped_acquire(std::size_t permits, std::stop_token token) {
        return limited_guard(permits, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_scoped_acquire_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_scoped_acquire_until(deadline_after(time), std::move(token));
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_scoped_acquire_for(std::size_t permits, std::chrono::duration<Rep, Period> time,
                                              std::stop_token token = {}) {
        return try_scoped_acquire_until(permits, deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_scoped_acquire_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return try_scoped_acquire_until(1, deadline, std::move(token));
    }
    [[nodiscard]] auto try_scoped_acquire_until(std::size_t permits, deadline_clock::time_point deadline,
                                                std::stop_token token = {}) {
        return limited_guard(permits, {deadline, std::move(token)});
    }
    // Never waits. False when there are not so many, or somebody waits for them.
    [[nodiscard]] bool try_acquire(std::size_t permits = 1) noexcept {
        spin_lock held(this->guard_);
        return take_so_many(checked(permits));
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

    // For its guard.
    struct permit_mode {
        std::size_t permits = 1;
        permit_mode() = default;
        permit_mode(std::size_t so_many) noexcept : permits(so_many) {} // NOLINT(google-explicit-constructor)
        auto unlock(basic_semaphore &of) const noexcept { return of.release(permits); }
        void give_back(basic_semaphore &of) const noexcept { of.release_unsuspended(permits); }
    };

private:
    friend class detail::waited_on<basic_semaphore>;
    static constexpr primitive_kind observed_as = primitive_kind::semaphore;
    static constexpr std::size_t permits_max = PTRDIFF_MAX;

    static std::size_t checked(std::size_t permits) noexcept {
        detail::require(permits <= permits_max,
                        "more permits are acquired than a semaphore can count, or a negative number");
        return permits;
    }
    auto limited_guard(std::size_t permits, wait_limits limits) {
        return detail::guarded<within_limits, scoped_permit_type>(*this, checked(permits), std::move(limits));
    }

    // Under the guard.
    bool take_so_many(std::size_t permits) noexcept {
        if (free_ < permits || !this->waiters_.empty()) // coro.S3
            return false;
        free_ -= permits;
        return true;
    }
    bool take(const waiter *one) noexcept { return take_so_many(one->wanted); }
    // coro.S2
    void admit(wait_list &chosen) noexcept {
        while (waiter *first = this->waiters_.first()) {
            if (first->wanted > free_)
                return;
            this->waiters_.unlink(*first);
            std::size_t wanted = first->wanted;
            if (!first->choose())
                continue; // cancelled, or its executor ends
            free_ -= wanted;
            chosen.append(*first);
        }
    }
    void give(std::size_t permits, wait_list &chosen) noexcept {
        spin_lock held(this->guard_);
        detail::require(permits <= permits_max - free_, "a semaphore has more permits than it can count: release what "
                                                        "was acquired, and begin with no negative number");
        free_ += permits;
        admit(chosen);
    }
    void give_back(const waiter &one) noexcept { release_unsuspended(one.wanted); }
    // One that gave up waiting for many may have kept those behind it waiting for nothing.
    void someone_left() noexcept { release_unsuspended(0); }

    std::size_t free_;
};

// Has permits, or nothing. Moves, does not copy. basic_scoped_permit(semaphore, std::adopt_lock, n) takes over n.
template <policy Policy>
class [[nodiscard]] basic_scoped_permit
    : public detail::guard<basic_semaphore<Policy>, typename basic_semaphore<Policy>::permit_mode> {
public:
    using detail::guard<basic_semaphore<Policy>, typename basic_semaphore<Policy>::permit_mode>::guard;
    [[nodiscard]] std::size_t permits() const noexcept { return this->owns_lock() ? this->mode_.permits : 0; }
};

using counting_semaphore = basic_semaphore<policy::ces>;
using scoped_permit = basic_scoped_permit<policy::ces>;

} // namespace holdfast::coro
