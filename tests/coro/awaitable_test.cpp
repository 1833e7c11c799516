// SPDX-License-Identifier: MIT OR Apache-2.0
// What with() refuses at compile time: a function whose result must be awaited would have ended, and the mutex be free,
// before the awaited part began. Shown able to fail: without the last line of `critical_section`; without each of the
// three parts of `awaitable`. And what sync_wait() takes: whatever can be awaited. Shown able to fail: does not compile
// where await_result knows one of the three forms not.
#include "holdfast/coro/detail/awaitable.hpp"

#include <coroutine>
#include <gtest/gtest.h>
#include <string>

#include "holdfast/coro/event.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"
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

struct gives_a_reference {
    int &of;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    int &await_resume() const { return of; }
};
struct with_own_operator {
    int &of;
    gives_a_reference operator co_await() const { return {of}; }
};

TEST(CoroAwaitable, SyncWaitTakesAll) {
    pool workers(1u);
    event set(true);
    sync_wait(workers, set.wait());
    auto kept = set.wait();
    sync_wait(workers, kept);
    mutex guard;
    sync_wait(workers, guard.lock());
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(sync_wait(workers, guard.lock(stop.get_token())));
    guard.unlock_unsuspended();
    EXPECT_TRUE(sync_wait(workers, guard.scoped_lock()).owns_lock());
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
    int seven = 7;
    EXPECT_EQ(sync_wait(workers, gives_a_reference{seven}), 7);
    EXPECT_EQ(sync_wait(workers, with_own_operator{seven}), 7);
    sync_wait(workers, with_free_operator());
}

} // namespace
