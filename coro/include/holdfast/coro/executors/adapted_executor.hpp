// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines on whatever can be told to resume one: the concept `executor`. Each ticket is a coroutine of its own
// there, so that a coroutine library's scheduler needs to know nothing of this one. Allocates a frame for each ticket;
// what takes functions is cheaper through posting_executor.
// Test: tests/coro/executors_test.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "holdfast/coro/executors/posting_executor.hpp"

namespace holdfast::coro {

namespace detail {

// Suspended until somebody resumes it; gone at its end. Its owner resumes or destroys it.
struct ticket_coroutine {
    struct promise_type {
        ticket_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); } // a ticket does not throw
    };
    std::coroutine_handle<> handle;
};

inline ticket_coroutine call(posting_executor::ticket one) {
    one();
    co_return;
}

} // namespace detail

// `on` must outlive it.
template <executor Executor>
class adapted_executor final : public posting_executor {
public:
    explicit adapted_executor(Executor &on, posting_options options = {})
        : posting_executor(
              [&on](ticket one, placement where) {
                  std::coroutine_handle<> handle = detail::call(std::move(one)).handle;
                  if (where == placement::elsewhere)
                      on.schedule_remote(handle);
                  else
                      on.schedule(handle);
              },
              options) {}
    ~adapted_executor() override { shutdown(); }
};

} // namespace holdfast::coro
