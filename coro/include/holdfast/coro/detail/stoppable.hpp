// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions that make a task which ends early when a stop_token says so.
#pragma once

#include <concepts>
#include <stop_token>
#include <type_traits>

#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

template <class>
inline constexpr bool never = false; // of static_assert: until the template is used

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

} // namespace detail

// A function that makes a task which ends early when the token says so.
template <class Function>
concept stoppable_task =
    std::invocable<Function &, std::stop_token> && detail::is_task<std::invoke_result_t<Function &, std::stop_token>>;

namespace detail {

template <stoppable_task Function>
using result_of_stoppable = typename std::invoke_result_t<Function &, std::stop_token>::result_type;

} // namespace detail

} // namespace holdfast::coro
