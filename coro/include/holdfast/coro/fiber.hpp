// SPDX-License-Identifier: MIT OR Apache-2.0
// A task that runs a plain function on a stack of its own, so that whatever that calls, however deep, can wait as a
// coroutine can: for code that can't be made of coroutines. Needs Boost.Context (Debian: libboost-context-dev; link
// with boost_context), which no other header here includes.
//
//     task<int> rows = fiber([&] { return count_rows(database); });       // which calls, somewhere inside,
//     void row_lock::lock() { this_fiber::await(mutex_.lock()); }
//
//               run()                          await(): notes what for
//     task ---------------> the function --------------------------------+
//      ^                                                                 |
//      +---- co_await of that, in the task's frame, off the stack <------+
//
// coro.F1  Nobody touches a stack that runs but its thread: a task that is waited for learns of the task in its
//     await_suspend, when the function is off the thread.
// coro.F2  A stack ends with its frames: where the task is destroyed, or its executor ends, await() throws
//     fiber_unwound, and the destructors of all that is on the stack have run before its memory goes.
// coro.F3  Exceptions are the function's: those that it handles, or that fly while a destructor waits, go with it to
//     another thread.
// coro.F4  Only the function waits. What runs on its stack by the way, for another (a coroutine that is on no executor
//     and was let go), finds no fiber.
//
// After await() a function may be on another thread: it keeps no address of a thread-local variable over it. (A
// compiler keeps that of `errno` by itself: ask for `errno` in functions that do not wait.) What mutex::with() or a
// predicate calls must not wait: a task that comes by runs it. A wait costs two switches of stacks more than its
// co_await; what need not wait costs two looks at thread-local variables more.
// Test: tests/coro/fiber_test.
#pragma once

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/context/stack_context.hpp>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cxxabi.h>
#include <exception>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/detail/sanitizer_fiber.hpp"
#include "holdfast/coro/detail/waiter.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

struct fiber_options {
    std::size_t stack_bytes = 64 * 1024; // rounded up to pages, 4096 at least. The page below it can't be accessed
};

// What await() throws when its task is gone (coro.F2). A function that catches it is to end all the same.
struct fiber_unwound {};

namespace detail {

// What a function waits for; on its stack.
class awaited {
public:
    // As await_suspend; but what that throws is for the function.
    HF_CORO_SUSPENDS bool suspend(std::coroutine_handle<> task) noexcept {
        HF_CORO_TRY {
            return suspend_or_throw(task); // nothing of this is touched after it
        }
        HF_CORO_CATCH(...) {
            thrown_ = std::current_exception();
            return false;
        }
    }
    void rethrow() const {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

protected:
    ~awaited() = default;

private:
    virtual bool suspend_or_throw(std::coroutine_handle<> task) = 0;

    std::exception_ptr thrown_;
};

template <class Awaiter>
class awaited_by final : public awaited {
public:
    explicit awaited_by(Awaiter &awaiter) noexcept : awaiter_(awaiter) {}

private:
    HF_CORO_SUSPENDS bool suspend_or_throw(std::coroutine_handle<> task) override {
        using result = decltype(awaiter_.await_suspend(task));
        if constexpr (std::is_void_v<result>) {
            awaiter_.await_suspend(task);
        } else if constexpr (std::same_as<result, bool>) {
            return awaiter_.await_suspend(task);
        } else {
            resume_next(awaiter_.await_suspend(task));
        }
        return true;
    }

    Awaiter &awaiter_;
};

// coro.F3: what the C++ ABI (Itanium's) keeps for each thread. Its functions give the address, and its text the layout.
struct exceptions_in_flight {
    void *caught = nullptr;
    unsigned uncaught = 0;

    static exceptions_in_flight &of_this_thread() noexcept {
        return *reinterpret_cast<exceptions_in_flight *>(abi::__cxa_get_globals());
    }
};

// co_await: for what a function waits for.
class [[nodiscard]] await_for_fiber {
public:
    explicit await_for_fiber(awaited &of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> task) const noexcept { return of_.suspend(task); }
    void await_resume() const noexcept {}

private:
    awaited &of_;
};

// A stack, and the function that runs on it. Boost.Context's plain jumps, not its class `fiber`: between what the
// sanitizers are told and the jump there must be no function.
class fiber_stack {
public:
    // `body` throws nothing.
    fiber_stack(std::function<void()> body, fiber_options options)
        : allocator_(std::max<std::size_t>(options.stack_bytes, 4096)), memory_(allocator_.allocate()),
          books_(static_cast<char *>(memory_.sp) - memory_.size, memory_.size), body_(std::move(body)),
          inside_(boost::context::detail::make_fcontext(memory_.sp, memory_.size, begin)) {}
    fiber_stack(const fiber_stack &) = delete;
    fiber_stack &operator=(const fiber_stack &) = delete;
    // coro.F2
    ~fiber_stack() {
        unwinding_ = true;
        if (waits_for_)
            run();
        allocator_.deallocate(memory_);
    }

    // On the task's side: goes on with the function until it waits; null: it has ended.
    awaited *run() {
        fiber_stack *before = on_this_thread();
        exceptions_in_flight &exceptions = exceptions_in_flight::of_this_thread();
        waits_for_ = nullptr;
        context_ = current_context();
        set_current(this);
        std::swap(exceptions, exceptions_);
        books_.entering();
        inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
        books_.left();
        std::swap(exceptions, exceptions_);
        set_current(before);
        return waits_for_;
    }

    // On the function's side.
    void wait(awaited &of) {
        end_if_unwinding(); // it may have begun within await_ready()
        waits_for_ = &of;
        books_.leaving(false);
        outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
        books_.entered();
        end_if_unwinding();
    }
    void end_if_unwinding() const {
        if (unwinding_)
            HF_CORO_THROW("a fiber whose task is gone can't be unwound without exceptions", fiber_unwound{});
    }

    // Whose function the caller is, or null (coro.F4).
    static fiber_stack *current() noexcept {
        fiber_stack *one = on_this_thread();
        return one && one->context_ == current_context() ? one : nullptr;
    }

private:
    // Not inline, as current_context().
    [[gnu::noinline]] static fiber_stack *on_this_thread() noexcept { return running; }
    [[gnu::noinline]] static void set_current(fiber_stack *one) noexcept { running = one; }
    static inline thread_local fiber_stack *running = nullptr;

    // The first function on the stack. Nobody comes back to it.
    static void begin(boost::context::detail::transfer_t from) noexcept {
        auto *self = static_cast<fiber_stack *>(from.data);
        self->books_.entered();
        self->outside_ = from.fctx;
        self->body_();
        self->books_.leaving(true);
        boost::context::detail::jump_fcontext(self->outside_, nullptr);
    }

    boost::context::protected_fixedsize_stack allocator_;
    boost::context::stack_context memory_;
    sanitizer_fiber books_;
    std::function<void()> body_;
    boost::context::detail::fcontext_t inside_; // where the function goes on
    boost::context::detail::fcontext_t outside_ = nullptr;
    awaited *waits_for_ = nullptr;
    const run_context *context_ = nullptr; // of a task that runs the function, or did last
    exceptions_in_flight exceptions_;      // the function's while it waits, the thread's while it runs
    bool unwinding_ = false;
};

} // namespace detail

// The function's result, or its exception. Its frame and its stack are allocated here; what it waits for allocates
// nothing more.
template <std::invocable Function>
    requires(!std::is_reference_v<std::invoke_result_t<Function &>>)
[[nodiscard]] task<std::invoke_result_t<Function &>> fiber(Function function, fiber_options options = {}) {
    using result_type = std::invoke_result_t<Function &>;
    detail::task_result<result_type> result;
    auto body = [&]() noexcept {
        HF_CORO_TRY {
            if constexpr (std::is_void_v<result_type>)
                function();
            else
                result.return_value(function());
        }
#ifdef __cpp_exceptions
        catch (const fiber_unwound &) { // the task is being destroyed
        }
#endif
        HF_CORO_CATCH(...) {
            result.unhandled_exception();
        }
    };
    detail::fiber_stack stack(body, options);
    while (detail::awaited *one = stack.run())
        co_await detail::await_for_fiber(*one);
    co_return result.take();
}

namespace this_fiber {

// Does the caller run inside of fiber()?
[[nodiscard]] inline bool exists() noexcept {
    return detail::fiber_stack::current() != nullptr;
}

// What co_await would give, for a caller inside of fiber(). Throws fiber_unwound (coro.F2); std::logic_error where
// there is no fiber. A result that is a reference must not be one into an awaiter, which is gone when this returns.
template <detail::awaitable Awaitable>
decltype(auto) await(Awaitable &&of) {
    detail::fiber_stack *stack = detail::fiber_stack::current();
    if (!stack)
        HF_CORO_THROW(
            "this_fiber::await() is for functions that run inside of fiber()",
            std::logic_error("holdfast::coro::this_fiber::await() is for functions that run inside of fiber()"));
    stack->end_if_unwinding();
    auto &&awaiter = detail::awaiter_of(std::forward<Awaitable>(of));
    if (!awaiter.await_ready()) {
        detail::awaited_by<std::remove_reference_t<decltype(awaiter)>> one(awaiter);
        stack->wait(one);
        one.rethrow();
    }
    return awaiter.await_resume();
}

} // namespace this_fiber

} // namespace holdfast::coro
