// SPDX-License-Identifier: MIT OR Apache-2.0
// task<T>: a coroutine that starts when it is awaited and gives its result, or its exception, to a task that awaits it.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/frame_check.hpp"
#include "holdfast/coro/detail/observation.hpp"
#include "holdfast/coro/executor.hpp"

namespace holdfast::coro {

template <class T = void>
class task;

namespace detail {

struct nothing {};

template <class T>
using result_or_nothing = std::conditional_t<std::is_void_v<T>, nothing, T>;

class task_promise_base {
public:
    [[nodiscard]] auto final_suspend() const noexcept {
        struct continue_awaiting {
            [[nodiscard]] bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<>) const noexcept {
                // Once it is counted as ended, this frame may be gone.
                if (std::coroutine_handle<> next = awaiting;
                    !left || left->fetch_sub(1, std::memory_order_acq_rel) == 1)
                    resume_next(next);
            }
            void await_resume() const noexcept {}
            std::coroutine_handle<> awaiting;
            std::atomic<std::size_t> *left;
        };
        return continue_awaiting{awaiting_, left_};
    }
    // It is one of several that `awaiting_` waits for: the last one resumes it.
    void set_one_of(std::atomic<std::size_t> &left) noexcept { left_ = &left; }
    void set_awaiting(std::coroutine_handle<> one) noexcept { awaiting_ = one; }

private:
    std::coroutine_handle<> awaiting_;
    std::atomic<std::size_t> *left_ = nullptr;
};

// How a task ends: with a value, or an exception.
template <class T>
class task_result {
public:
    void unhandled_exception() noexcept { result_.template emplace<2>(std::current_exception()); }
    template <class Value>
        requires std::convertible_to<Value, T>
    void return_value(Value &&value) {
        result_.template emplace<1>(std::forward<Value>(value));
    }
    T take() {
        if (result_.index() == 2)
            std::rethrow_exception(std::get<2>(result_));
        return std::move(std::get<1>(result_));
    }

private:
    std::variant<nothing, T, std::exception_ptr> result_;
};

template <>
class task_result<void> {
public:
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
    void return_void() const noexcept {}
    void take() const {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

private:
    std::exception_ptr thrown_;
};

template <class T>
class task_promise final : public task_promise_base, public task_result<T> {
public:
    task<T> get_return_object() noexcept { return task<T>(frame()); }
    [[nodiscard]] suspend_and_check initial_suspend() noexcept { return suspend_and_check(frame()); }

private:
    std::coroutine_handle<task_promise> frame() noexcept {
        return std::coroutine_handle<task_promise>::from_promise(*this);
    }
};

} // namespace detail

// Owns its frame: destroying a task that has not ended destroys what it waits for. T is no reference.
template <class T>
class [[nodiscard("a task does nothing until it is awaited")]] task : public detail::for_tasks {
    static_assert(!std::is_reference_v<T>, "a task's result is a value: return a pointer instead of a reference");

public:
    using promise_type = detail::task_promise<T>;
    using result_type = T;

    task() = default;
    task(task &&other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task &operator=(task &&other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~task() {
        if (!frame_)
            return;
        if (detail::noting(detail::watching))
            detail::note_gone(frame_.address());
        frame_.destroy();
    }

    class awaiter {
    public:
        explicit awaiter(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> awaiting) const noexcept {
            if (detail::noting(detail::watching))
                detail::note_awaited(frame_.address(), awaiting.address());
            frame_.promise().set_awaiting(awaiting);
            resume_next(frame_);
        }
        T await_resume() const { return frame_.promise().take(); }

    private:
        std::coroutine_handle<promise_type> frame_;
    };

    // Requires that it was not awaited before.
    [[nodiscard]] awaiter operator co_await() && noexcept {
        require_frame();
        return awaiter(frame_);
    }
    awaiter operator co_await() & = delete; // a task is awaited once: co_await std::move(it)

    // For when_all: what to resume for it to begin. `awaiting` is resumed by the last of those that share `left`.
    [[nodiscard]] std::coroutine_handle<> start(std::coroutine_handle<> awaiting,
                                                std::atomic<std::size_t> &left) noexcept {
        require_frame();
        if (detail::noting(detail::watching))
            detail::note_awaited(frame_.address(), awaiting.address());
        frame_.promise().set_awaiting(awaiting);
        frame_.promise().set_one_of(left);
        return frame_;
    }

private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    void require_frame() const noexcept {
        detail::require(frame_ && !frame_.done(), "a task is awaited that is empty, was moved from, or has ended");
    }

    std::coroutine_handle<promise_type> frame_;
};

} // namespace holdfast::coro
