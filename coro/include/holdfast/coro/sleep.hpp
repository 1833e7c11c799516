// SPDX-License-Identifier: MIT OR Apache-2.0
// Time that passes without a thread. Test: tests/coro/primitives_test.
#pragma once

#include <chrono>
#include <utility>

#include "holdfast/coro/detail/waiter.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

// Waits for nothing but its limits. Whether the time has passed, and not the stop come before, is found out when the
// wait ends: the coroutine may run much later.
class [[nodiscard]] sleeper : private limited_waiter {
public:
    sleeper(deadline_clock::time_point deadline, std::stop_token token)
        : limited_waiter({deadline, std::move(token)}, withdraw) {}
    ~sleeper() {
        disarm();
        leave_home();
    }
    [[nodiscard]] bool await_ready() {
        passed_ = !limits().token.stop_requested();
        return !passed_ || limits().time_has_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        prepare(self);
        arm();
        note_begin(primitive_kind::sleep, this);
        if (advance(wait_state::arming, wait_state::waiting))
            return true;
        passed_ = limits().time_has_passed();
        return false;
    }
    [[nodiscard]] bool await_resume() {
        disarm();
        if (noting(watching))
            note_waits_no_more(handle.address());
        if (home_has_ended()) [[unlikely]]
            throw_executor_stopped();
        return passed_;
    }

private:
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<sleeper &>(one);
        self.passed_ = self.limits().time_has_passed();
        schedule(one);
    }

    bool passed_ = false;
};

} // namespace detail

// co_await sleep_for(5ms): no less than that, on the caller's executor. False when the stop was requested before.
[[nodiscard]] inline task<bool> sleep_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
    detail::sleeper asleep(deadline, std::move(token));
    bool passed = co_await asleep;
    co_return passed;
}
// So long from when it is awaited.
template <class Rep, class Period>
[[nodiscard]] task<bool> sleep_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
    detail::sleeper asleep(deadline_after(time), std::move(token));
    bool passed = co_await asleep;
    co_return passed;
}

} // namespace holdfast::coro
