// SPDX-License-Identifier: MIT OR Apache-2.0
// What with() refuses at compile time: a function whose result must be awaited would have ended, and the mutex be free,
// before the awaited part began. Shown able to fail: without the last line of `critical_section`; without each of the
// three parts of `awaitable`.
#include "holdfast/coro/detail/awaitable.hpp"

#include <coroutine>
#include <gtest/gtest.h>
#include <string>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/task.hpp"

namespace {

using namespace holdfast::coro;

struct with_free_operator {};
std::suspend_never operator co_await(with_free_operator) {
    return {};
}

template <class Mutex, class Section>
concept takes = requires(Mutex &guard, Section section) { guard.with(section); };

template <class Result>
using function = Result (*)();

template <class Mutex>
constexpr bool refuses_what_must_be_awaited() {
    return !takes<Mutex, function<task<>>> && !takes<Mutex, function<task<int>>> &&
           !takes<Mutex, function<std::suspend_never>> && !takes<Mutex, function<with_free_operator>> &&
           !takes<Mutex, function<decltype(std::declval<Mutex &>().lock())>>;
}

template <class Mutex>
constexpr bool takes_values() {
    return takes<Mutex, function<void>> && takes<Mutex, function<int>> && takes<Mutex, function<std::string>> &&
           !takes<Mutex, function<int &>>;
}

static_assert(refuses_what_must_be_awaited<mutex>() && takes_values<mutex>());
static_assert(refuses_what_must_be_awaited<dispatch_mutex>() && takes_values<dispatch_mutex>());
static_assert(refuses_what_must_be_awaited<inline_mutex>() && takes_values<inline_mutex>());

TEST(CoroAwaitable, IsCheckedByTheCompiler) {
    EXPECT_TRUE(detail::awaitable<with_free_operator>);
    EXPECT_FALSE(detail::awaitable<std::string>);
    EXPECT_NO_THROW(static_cast<void>(operator co_await(with_free_operator())));
}

} // namespace
