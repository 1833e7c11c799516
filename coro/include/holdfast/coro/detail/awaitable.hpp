// SPDX-License-Identifier: MIT OR Apache-2.0
// What co_await takes. Test: tests/coro/awaitable_test.
#pragma once

#include <utility>

namespace holdfast::coro::detail {

template <class T>
concept has_await_ready = requires(T &one) { one.await_ready(); };

template <class T>
concept has_own_co_await = requires(T &&one) { std::forward<T>(one).operator co_await(); };

template <class T>
concept has_free_co_await = requires(T &&one) { operator co_await(std::forward<T>(one)); };

template <class T>
concept awaitable = has_await_ready<T> || has_own_co_await<T> || has_free_co_await<T>;

// What is asked for await_ready() and so on.
template <awaitable T>
decltype(auto) awaiter_of(T &&one) {
    if constexpr (has_own_co_await<T>)
        return std::forward<T>(one).operator co_await();
    else if constexpr (has_free_co_await<T>)
        return operator co_await(std::forward<T>(one));
    else
        return std::forward<T>(one);
}

// What is awaited in tasks. Asio's coroutines await a function of their frame, too: so one that awaits this gets the
// sentence instead of a list of what Asio could await. Test: tests/coro/errors.
struct for_tasks {
    struct nothing_like_it {
        template <class T>
        operator T *() const;
    };
    template <class Frame>
    auto operator()(Frame *) const {
        static_assert(!sizeof(Frame *), "this is awaited in a holdfast::coro::task; in a coroutine of Asio's: co_await "
                                        "async_lock(mutex, asio::use_awaitable), or async_await(function, "
                                        "asio::use_awaitable), of holdfast/coro/asio.hpp");
        return nothing_like_it();
    }
};

// What co_await gives.
template <awaitable T>
using await_result = decltype(awaiter_of(std::declval<T>()).await_resume());

} // namespace holdfast::coro::detail
