// SPDX-License-Identifier: MIT OR Apache-2.0
// A look at whether the compiler has laid a coroutine's frame out as its callers expect it.
//
// g++ 12 does not where a condition of `if` or `while` awaits something that has to be destroyed afterwards, and the
// block around it declares nothing:
//
//     task<> f(mutex &m) {
//         if (co_await m.try_lock_for(1ms)) // or: if (co_await some_task())
//             ...
//     }
//
// It puts a variable of its own in front of the two functions that begin every frame, so that a task that resumes such
// a coroutine jumps anywhere. Nothing that a library does can mend that, but it can be said: before the coroutine's
// first step, and in one sentence. `bool got = co_await ...; if (got)` is compiled as it should be.
//
// And it destroys twice what is made within a co_await and is an aggregate, or a lambda that captures, and has
// something to destroy. may_be_made_within_co_await() refuses such functions; of values and arguments nothing can be
// told.
#pragma once

#include <coroutine>
#include <source_location>
#include <type_traits>

#include "holdfast/coro/detail/observation.hpp"

namespace holdfast::coro::detail {

// `Given`: as deduced for a function that is passed by reference.
template <class Given>
constexpr void may_be_made_within_co_await() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    static_assert(std::is_lvalue_reference_v<Given> || std::is_trivially_destructible_v<Given>,
                  "g++ 12 destroys a lambda twice that is made within a co_await and captures, by value, what has a "
                  "destructor: store it in a variable before, and pass that (with std::ref if it can't be copied); or "
                  "capture by reference");
#endif
}

// Prints a sentence and ends the program.
[[noreturn]] void frame_is_broken(const std::source_location &coroutine) noexcept;

// What a promise's initial_suspend() returns: suspends, always. `frame` is where from_promise() finds the frame.
class suspend_and_check {
public:
    explicit suspend_and_check(std::coroutine_handle<> frame) noexcept : frame_(frame) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    // The handle that the compiler passes is where the frame is. Where it is right, both are the same to its optimizer.
    void await_suspend(std::coroutine_handle<> self,
                       std::source_location coroutine = std::source_location::current()) const noexcept {
        if (self != frame_) [[unlikely]]
            frame_is_broken(coroutine);
        if (noting(watching))
            note_coroutine(self.address(), coroutine.function_name(), coroutine.file_name(), coroutine.line());
    }
    void await_resume() const noexcept {}

private:
    std::coroutine_handle<> frame_;
};

} // namespace holdfast::coro::detail
