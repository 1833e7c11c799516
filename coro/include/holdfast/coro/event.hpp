// SPDX-License-Identifier: MIT OR Apache-2.0
// Events: a manual one stays set for all until it is reset; an automatic one lets a single waiter through.
//
// coro.E1  A set event is not lost: set() lets all (manual) or one (automatic) waiter go on, or is kept for a task that
//     comes next. A waiter that was cancelled before it was chosen takes nothing with it.
// Test: tests/coro/primitives_test.
#pragma once

#include <chrono>
#include <utility>

#include "holdfast/coro/detail/waited_on.hpp"

namespace holdfast::coro {

template <bool Automatic>
class [[nodiscard]] basic_event : public detail::waited_on<basic_event<Automatic>> {
public:
    explicit basic_event(bool set = false) noexcept : set_(set) {}

    // From any thread. O(1) automatic, O(waiters) manual.
    void set() noexcept {
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            set_ = true;
            while (set_) {
                waiter *one = this->waiters_.choose();
                if (!one)
                    break;
                chosen.append(*one);
                if constexpr (Automatic)
                    set_ = false;
            }
        }
        schedule_all(chosen);
    }
    void reset() noexcept {
        spin_lock held(this->guard_);
        set_ = false;
    }
    // An automatic event is reset by it.
    [[nodiscard]] bool try_wait() noexcept {
        spin_lock held(this->guard_);
        return take(nullptr);
    }

    // co_await e.wait(); with a limit: false when that was reached first.
    [[nodiscard]] auto wait() noexcept { return detail::wait_for_ever<basic_event>(*this, 0); }
    [[nodiscard]] auto wait(std::stop_token token) {
        return detail::wait_within_limits<basic_event>(*this, 0, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto wait_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return wait_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto wait_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return detail::wait_within_limits<basic_event>(*this, 0, {deadline, std::move(token)});
    }

private:
    friend class detail::waited_on<basic_event>;
    static constexpr primitive_kind observed_as = primitive_kind::event;

    bool take(const waiter *) noexcept {
        if (!set_)
            return false;
        if constexpr (Automatic)
            set_ = false;
        return true;
    }
    void give_back(const waiter &) noexcept {
        if constexpr (Automatic)
            set();
    }
    void someone_left() noexcept {}

    bool set_;
};

using event = basic_event<false>;
using auto_event = basic_event<true>;
// What others call them.
using manual_reset_event = event;
using auto_reset_event = auto_event;

} // namespace holdfast::coro
