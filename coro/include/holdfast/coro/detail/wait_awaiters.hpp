// SPDX-License-Identifier: MIT OR Apache-2.0
// co_await of a primitive that gives one thing to one waiter at a time, without limits and with them.
//
// A primitive has:
//   take_at_once(waiter &)  gives what is wanted, if that is possible without waiting
//   enter(waiter &)         in await_suspend: the same, or links the waiter
//   withdraw(waiter &)      coro.W2: called by a task that cancelled it
//   abandon(waiter &)       its coroutine is destroyed: it leaves, or what it was given goes on to others
//   suspends(waiter &)      it is about to: for waits.hpp
//   resumed(waiter &)       it runs again, after it was suspended: for statistics
#pragma once

#include <utility>

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/waiter.hpp"

namespace holdfast::coro::detail {

enum class entry { got_it, waits, cancelled };

// What it was given goes on to others.
template <class Primitive>
[[noreturn, gnu::noinline]] void end_without_home(Primitive &of, waiter &one) {
    of.abandon(one);
    throw_executor_stopped();
}

template <class Primitive>
class [[nodiscard]] wait_for_ever : public for_tasks, private waiter {
public:
    explicit wait_for_ever(Primitive &of, std::size_t what = 0) noexcept : of_(of) { wanted = what; }
    ~wait_for_ever() {
        if (!suspended_)
            return;
        of_.abandon(*this);
        leave_home();
    }
    [[nodiscard]] bool await_ready() noexcept { return of_.take_at_once(*this); }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
        suspended_ = true;
        prepare(self);
        of_.suspends(*this);
        return of_.enter(*this) == entry::waits;
    }
    void await_resume() {
        if (!std::exchange(suspended_, false))
            return;
        if (home_has_ended()) [[unlikely]]
            end_without_home(of_, *this);
        of_.resumed(*this);
    }

protected:
    [[nodiscard]] std::size_t what() const noexcept { return wanted; }

    Primitive &of_;

private:
    bool suspended_ = false;
};

// co_await: whether it got what it waited for.
template <class Primitive>
class [[nodiscard]] wait_within_limits : public for_tasks, private limited_waiter {
public:
    wait_within_limits(Primitive &of, std::size_t what, wait_limits limits)
        : limited_waiter(std::move(limits), withdraw), of_(of) {
        wanted = what;
    }
    ~wait_within_limits() {
        if (!suspended_)
            return;
        disarm();
        of_.abandon(*this);
        leave_home();
    }
    [[nodiscard]] bool await_ready() {
        got_ = of_.take_at_once(*this);
        return got_ || limits_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        prepare(self);
        arm();
        suspended_ = true;
        of_.suspends(*this);
        return of_.enter(*this) == entry::waits;
    }
    [[nodiscard]] bool await_resume() {
        if (suspended_) {
            disarm();
            suspended_ = false;
            if (home_has_ended()) [[unlikely]]
                end_without_home(of_, *this);
            got_ = was(wait_state::chosen);
            of_.resumed(*this);
        }
        return got_;
    }

protected:
    [[nodiscard]] std::size_t what() const noexcept { return wanted; }

    Primitive &of_;

private:
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<wait_within_limits &>(one);
        self.of_.withdraw(self);
    }

    bool suspended_ = false;
    bool got_ = false;
};

} // namespace holdfast::coro::detail
