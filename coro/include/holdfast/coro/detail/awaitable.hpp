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

// What co_await gives.
template <awaitable T>
using await_result = decltype(awaiter_of(std::declval<T>()).await_resume());

} // namespace holdfast::coro::detail
