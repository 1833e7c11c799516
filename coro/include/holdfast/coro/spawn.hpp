// SPDX-License-Identifier: MIT OR Apache-2.0
// Where tasks begin: spawn() lets one run by itself, sync_wait() waits for one on a thread.
#pragma once

#include <concepts>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

// The coroutine around a task that nobody awaits. At its end it destroys itself.
class rooted {
public:
    class promise_type : public root {
    public:
        executor_base *home = nullptr;
        void (*ended)(void *) noexcept = nullptr; // after the frame is gone
        void *whom = nullptr;

        rooted get_return_object() noexcept { return rooted(std::coroutine_handle<promise_type>::from_promise(*this)); }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] auto final_suspend() const noexcept {
            struct end {
                [[nodiscard]] bool await_ready() const noexcept { return false; }
                void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                    self.promise().home->disown(self.promise());
                    destroy(self.promise());
                }
                void await_resume() const noexcept {}
            };
            return end{};
        }
        void return_void() const noexcept {}
        // Of a spawned task: there is nobody to tell. sync_wait's catches its own.
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };

    // Begins on `home`, or is destroyed at once if that has ended.
    void start(executor_base &home, void (*ended)(void *) noexcept, void *whom) noexcept {
        if (std::coroutine_handle<> begun = start_with(home, ended, whom))
            home.schedule(begun);
    }
    // The same for a caller that resumes it there itself: what to resume, or null if it was destroyed.
    [[nodiscard]] std::coroutine_handle<> start_with(executor_base &home, void (*ended)(void *) noexcept,
                                                     void *whom) noexcept {
        promise_type &promise = frame_.promise();
        promise.home = &home;
        promise.ended = ended;
        promise.whom = whom;
        promise.abandon = [](root &one) noexcept { destroy(static_cast<promise_type &>(one)); };
        if (home.adopt(promise))
            return frame_;
        destroy(promise);
        return nullptr;
    }

private:
    explicit rooted(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    static void destroy(promise_type &promise) noexcept {
        auto ended = promise.ended;
        void *whom = promise.whom;
        std::coroutine_handle<promise_type>::from_promise(promise).destroy();
        if (ended)
            ended(whom);
    }

    std::coroutine_handle<promise_type> frame_;
};

// A task that ends because an executor on which it waited has ended is as one that was destroyed with it.
inline rooted run_alone(task<void> one) {
    HF_CORO_TRY {
        co_await std::move(one);
    }
    HF_CORO_CATCH(const executor_stopped &) { // NOLINT(bugprone-empty-catch): nobody is to be told
    }
}

// What sync_wait's thread waits for.
template <class T>
struct waited_for {
    std::mutex lock;
    std::condition_variable changed;
    bool over = false;
    std::exception_ptr thrown;
    std::optional<result_or_nothing<T>> result;

    static void ended(void *self) noexcept {
        auto *of = static_cast<waited_for *>(self);
        std::lock_guard held(of->lock); // held while it notifies: then the waiting thread can't be gone
        of->over = true;
        of->changed.notify_one();
    }
};

template <class T>
rooted run_for(task<T> one, waited_for<T> &of) {
    HF_CORO_TRY {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(one);
            of.result.emplace();
        } else {
            of.result.emplace(co_await std::move(one));
        }
    }
    HF_CORO_CATCH(...) {
        of.thrown = std::current_exception();
    }
}

} // namespace detail

// Runs the task on `home`, by itself. An exception that comes out of it ends the program, but for executor_stopped. If
// `home` ends first, the task is destroyed where it is. Allocates a frame.
inline void spawn(executor_base &home, task<void> one) {
    detail::run_alone(std::move(one)).start(home, nullptr, nullptr);
}

// The same for a function that gives a task, a lambda that captures, say, which is kept until the task has ended.
template <class Function>
    requires std::same_as<std::invoke_result_t<Function &>, task<void>>
void spawn(executor_base &home, Function begin) {
    auto keep = [](Function kept) -> task<void> { co_await kept(); };
    spawn(home, keep(std::move(begin)));
}

// Runs a function on `home`, from any thread. What it throws ends the program; if `home` ends first, it is dropped.
// Allocates a frame.
template <class Function>
    requires std::is_void_v<std::invoke_result_t<Function &>>
void post(executor_base &home, Function function) {
    auto keep = [](Function kept) -> task<void> {
        kept();
        co_return;
    };
    spawn(home, keep(std::move(function)));
}

// Runs the task on `home` and blocks this thread until it has ended: its result, or its exception. Throws
// executor_stopped if `home` ends first. Not from a coroutine on `home`, whose thread the task may need: where it is
// the only one, and in a debug build wherever, the program ends with a sentence.
template <class T>
T sync_wait(executor_base &home, task<T> one) {
    if (run_context *context = current_context();
        context && context->home == &home && (context->alone || HF_CORO_CHECKS))
        detail::misused(
            "sync_wait is called by a coroutine on the executor for which it waits, whose thread it blocks: "
            "co_await the task instead");
    detail::waited_for<T> state;
    detail::run_for(std::move(one), state).start(home, detail::waited_for<T>::ended, &state);
    std::unique_lock held(state.lock);
    state.changed.wait(held, [&] { return state.over; });
    if (state.thrown)
        std::rethrow_exception(state.thrown);
    if (!state.result)
        detail::throw_executor_stopped();
    if constexpr (!std::is_void_v<T>)
        return std::move(*state.result);
}

namespace detail {

template <class Awaited>
task<std::decay_t<await_result<Awaited>>> await_in_task(Awaited &&one) {
    if constexpr (has_await_ready<Awaited>) {
        auto &awaiter = one; // g++ 12 copies what is no variable
        co_return co_await awaiter;
    } else {
        co_return co_await std::forward<Awaited>(one);
    }
}

} // namespace detail

// The same for whatever can be awaited: sync_wait(workers, done.wait()). It is awaited on `home`; a reference that it
// gives is copied.
template <class Awaited>
    requires(detail::awaitable<Awaited &&> && std::is_class_v<std::remove_cvref_t<Awaited>>)
std::decay_t<detail::await_result<Awaited &&>> sync_wait(executor_base &home, Awaited &&one) {
    return sync_wait(home, detail::await_in_task<Awaited>(std::forward<Awaited>(one)));
}

} // namespace holdfast::coro
