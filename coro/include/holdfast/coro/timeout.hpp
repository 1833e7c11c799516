// SPDX-License-Identifier: MIT OR Apache-2.0
// A task that is requested to stop when a time has come.
//
//     std::optional<reply> got = co_await timeout([&](std::stop_token token) { return ask(server, token); }, 5ms);
//
// A task has no limits of its own: it is made with a stop_token, which it hands on to what it waits for. Nothing is
// abandoned: the task has ended, whatever it was at, when the wait for it does.
//
// coro.D1  The result is the task's when that has ended before the limit was reached, and nothing otherwise: a
//     compare-and-swap decides.
// coro.D2  When the wait ends neither the timer nor the stop request touches it any more (coro.W4).
// Model: verify/coro/mutex.pml (reached, disarm). Test: tests/coro/timeout_test.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/frame_check.hpp"
#include "holdfast/coro/detail/stoppable.hpp"
#include "holdfast/coro/detail/waiter.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

// Requests a stop when a limit is reached. A waiter that is in nobody's list: it is chosen by over().
class limited_stop : private limited_waiter {
public:
    // Throws no_executor, std::bad_alloc, or std::system_error when there can be no thread for timers.
    explicit limited_stop(wait_limits limits) : limited_waiter(std::move(limits), request) {
        prepare(std::noop_coroutine());
        if (limits_passed())
            state.store(wait_state::cancelled, std::memory_order_relaxed); // nobody else knows it yet
        arm();
        if (!advance(wait_state::arming, wait_state::waiting))
            source_.request_stop();
    }
    ~limited_stop() { disarm(); } // coro.D2: while `source_` is there

    [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }
    // The task has ended. Whether it did before the limit: coro.D1.
    [[nodiscard]] bool over() noexcept { return advance(wait_state::waiting, wait_state::chosen); }

private:
    static void request(limited_waiter &one) noexcept { static_cast<limited_stop &>(one).source_.request_stop(); }

    std::stop_source source_;
};

template <class T>
using in_time =
    std::conditional_t<std::is_void_v<T>, bool, std::optional<std::conditional_t<std::is_void_v<T>, int, T>>>;

// `when` gives the deadline, once the wait begins.
template <class T, class Function, class When>
task<in_time<T>> stop_at(Function make, When when, std::stop_token token) {
    limited_stop limit({when(), std::move(token)});
    task<T> one = make(limit.token());
    if constexpr (std::is_void_v<T>) {
        co_await std::move(one);
        co_return limit.over();
    } else {
        std::optional<T> result;
        result.emplace(co_await std::move(one));
        if (!limit.over())
            result.reset();
        co_return result;
    }
}

template <class Function, class When>
auto stopped_at(Function &&make, When when, std::stop_token token) {
    may_be_made_within_co_await<Function>();
    using function = std::decay_t<Function>;
    return stop_at<result_of_stoppable<function>, function>(std::forward<Function>(make), when, std::move(token));
}

} // namespace detail

// co_await timeout(function, time, token): runs the task that function(std::stop_token) gives, and requests it to stop
// when the time is over, or when `token` is. Its result if it ended before that; else nothing, and of a task<void>
// false, once it has ended all the same: so a task that does not look at its token is waited for without end. Its
// exception comes out in any case. The time begins where it is awaited. Throws no_executor where there is none. The
// callbacks of the token run on the executor's thread for timers, which must not block. Allocates two frames, and the
// token.
template <class Function, class Rep, class Period>
    requires stoppable_task<std::decay_t<Function>>
[[nodiscard]] auto timeout(Function &&make, std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
    return detail::stopped_at(
        std::forward<Function>(make), [time] { return deadline_after(time); }, std::move(token));
}
template <class Function>
    requires stoppable_task<std::decay_t<Function>>
[[nodiscard]] auto timeout_until(Function &&make, deadline_clock::time_point deadline, std::stop_token token = {}) {
    return detail::stopped_at(
        std::forward<Function>(make), [deadline] { return deadline; }, std::move(token));
}

// A task that is made already knows no token that could stop it.
template <class T, class... Limits>
void timeout(task<T>, Limits &&...) {
    static_assert(detail::never<T>,
                  "timeout() is given a function that makes the task from a stop_token, by which it is "
                  "stopped: timeout([&](std::stop_token token) { return work(token); }, 5ms)");
}

} // namespace holdfast::coro
