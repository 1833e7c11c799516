// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting for a library that calls back, on whatever thread.
//
//     auto bytes = co_await from_callback<std::size_t>([&](auto done) {
//         socket.async_read(buffer, [done](std::size_t count) { done(count); });
//     });
//
// The coroutine goes on on its own executor, not on the thread of the callback. `done` may be copied, kept for as long
// as wanted and called late, when the coroutine is gone: then nothing happens.
// Test: tests/coro/from_callback_test.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/event.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

template <class T>
struct awaited_callback {
    std::atomic<bool> called = false;
    event came;
    std::optional<result_or_nothing<T>> value;
    std::exception_ptr thrown;

    // The exception then belongs to the coroutine alone, not to the last who has a `done`.
    T take() {
        if (thrown)
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if constexpr (!std::is_void_v<T>)
            return std::move(*value);
    }
};

} // namespace detail

// What the callback calls: done(value), done() for void, or done.fail(exception). The first call counts. From any
// thread.
template <class T>
class callback {
public:
    explicit callback(std::shared_ptr<detail::awaited_callback<T>> of) noexcept : of_(std::move(of)) {}
    template <class... Value>
        requires(std::is_void_v<T> ? sizeof...(Value) == 0 : std::is_constructible_v<T, Value...>)
    void operator()(Value &&...value) const {
        if (of_->called.exchange(true, std::memory_order_relaxed))
            return;
        of_->value.emplace(std::forward<Value>(value)...);
        of_->came.set();
    }
    // False where it was moved from.
    [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }
    void fail(std::exception_ptr thrown) const noexcept {
        if (of_->called.exchange(true, std::memory_order_relaxed))
            return;
        of_->thrown = std::move(thrown);
        of_->came.set();
    }

private:
    std::shared_ptr<detail::awaited_callback<T>> of_;
};

namespace detail {

template <class T, class Start>
task<T> await_callback(Start start) {
    auto state = std::make_shared<awaited_callback<T>>();
    start(callback<T>(state));
    co_await state->came.wait();
    co_return state->take();
}

} // namespace detail

// `start` is called once, on the coroutine's thread, with a callback<T>; it may call that at once. Allocates a frame
// and what both share.
template <class T = void, class Start>
    requires std::invocable<std::decay_t<Start> &, callback<T>>
[[nodiscard]] task<T> from_callback(Start &&start) {
    detail::may_be_made_within_co_await<Start>();
    return detail::await_callback<T, std::decay_t<Start>>(std::forward<Start>(start));
}

} // namespace holdfast::coro
