// SPDX-License-Identifier: MIT OR Apache-2.0
// A task whose result several others wait for. It runs once, in the first that awaits it; all get a reference to what
// it gave, or its exception.
//
//     shared_task<config> loaded(load());
//     ... const config &mine = co_await loaded;           // in as many tasks as want it
//
// Copies are the same task. The result lives as long as one of them.
//
// coro.H1  The task is run once, and what awaits it goes on when its result, or its exception, is there.
// coro.H2  If the coroutine that runs it is destroyed first, with its executor, the others get executor_stopped.
// Test: tests/coro/shared_task_test.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/event.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

template <class T>
class [[nodiscard]] shared_task {
public:
    // Allocates what the copies share.
    explicit shared_task(task<T> one) : shared_(std::make_shared<shared>(std::move(one))) {}

    class awaiter;
    // co_await shared: a const T &, or nothing of a task<void>. Allocates a frame, unless it is over.
    [[nodiscard]] awaiter operator co_await() const noexcept { return awaiter(shared_); }
    // Whether the result, or the exception, is there.
    [[nodiscard]] bool is_over() const noexcept { return shared_->over.try_wait(); }

private:
    struct shared {
        explicit shared(task<T> from) noexcept : one(std::move(from)) {}

        void take() const {
            if (thrown)
                std::rethrow_exception(thrown);
            if (!result)
                detail::throw_executor_stopped(); // coro.H2
        }

        task<T> one;
        std::atomic<bool> begun = false;
        event over;
        std::optional<detail::result_or_nothing<T>> result;
        std::exception_ptr thrown;
    };

    static task<> run(std::shared_ptr<shared> of) {
        struct end {
            shared &of;
            ~end() { of.over.set(); } // also where this frame is destroyed before
        };
        end at_last{*of};
        HF_CORO_TRY {
            task<T> one = std::move(of->one);
            if constexpr (std::is_void_v<T>) {
                co_await std::move(one);
                of->result.emplace();
            } else {
                of->result.emplace(co_await std::move(one));
            }
        }
        HF_CORO_CATCH(...) {
            of->thrown = std::current_exception();
        }
    }
    static task<> wait(std::shared_ptr<shared> of) { co_await of->over.wait(); }

    std::shared_ptr<shared> shared_;
};

template <class T>
class [[nodiscard]] shared_task<T>::awaiter {
public:
    explicit awaiter(std::shared_ptr<shared> of) noexcept : of_(std::move(of)) {}
    [[nodiscard]] bool await_ready() const noexcept { return of_->over.try_wait(); }
    void await_suspend(std::coroutine_handle<> self) {
        bool first = !of_->begun.exchange(true, std::memory_order_relaxed); // coro.H1
        waiting_ = first ? run(of_) : wait(of_);
        awaited_.emplace(std::move(waiting_).operator co_await());
        awaited_->await_suspend(self);
    }
    std::add_lvalue_reference_t<const T> await_resume() const {
        if (awaited_)
            awaited_->await_resume();
        of_->take();
        if constexpr (!std::is_void_v<T>)
            return *of_->result;
    }

private:
    std::shared_ptr<shared> of_;
    task<> waiting_;
    std::optional<task<>::awaiter> awaited_;
};

} // namespace holdfast::coro
