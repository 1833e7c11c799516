// SPDX-License-Identifier: MIT OR Apache-2.0
// Several tasks at once. Both wait until every task has ended, so that none outlives what it refers to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

template <class T>
using result_or_nothing = std::conditional_t<std::is_void_v<T>, nothing, T>;

// Starts all of `tasks` and waits until they have ended. They do not throw.
template <class Tasks>
class [[nodiscard]] all_of {
public:
    explicit all_of(Tasks &tasks) noexcept : tasks_(tasks) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        // One more than there are: so this is not gone before the last one is started.
        left_.store(tasks_.size() + 1, std::memory_order_relaxed);
        const run_context *context = current_context();
        executor_base *home = context ? context->home : nullptr;
        for (task<> &one : tasks_) {
            std::coroutine_handle<> begins = one.start(self, left_);
            if (home)
                home->schedule(begins);
            else
                run_here_by_hand(begins);
        }
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const noexcept {}

private:
    Tasks &tasks_;
    std::atomic<std::size_t> left_ = 0;
};

template <class T>
task<> keep_result(task<T> one, std::optional<result_or_nothing<T>> &result, std::exception_ptr &thrown) {
    HF_CORO_TRY {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(one);
            result.emplace();
        } else {
            result.emplace(co_await std::move(one));
        }
    }
    HF_CORO_CATCH(...) {
        thrown = std::current_exception();
    }
}

inline void rethrow_first(const auto &thrown) {
    for (const std::exception_ptr &one : thrown)
        if (one)
            std::rethrow_exception(one);
}

template <std::size_t... I, class... T>
task<std::tuple<result_or_nothing<T>...>> when_all_of(std::index_sequence<I...>, task<T>... tasks) {
    std::tuple<std::optional<result_or_nothing<T>>...> results;
    std::array<std::exception_ptr, sizeof...(T)> thrown;
    std::array<task<>, sizeof...(T)> running{keep_result<T>(std::move(tasks), std::get<I>(results), thrown[I])...};
    co_await all_of(running);
    rethrow_first(thrown);
    co_return std::tuple<result_or_nothing<T>...>(std::move(*std::get<I>(results))...);
}

} // namespace detail

// co_await when_all(a(), b()): the results as a tuple; for a task<void>, an empty struct. The first exception, in the
// order of the arguments, is thrown once all have ended.
template <class... T>
[[nodiscard]] auto when_all(task<T>... tasks) {
    return detail::when_all_of<>(std::index_sequence_for<T...>(), std::move(tasks)...);
}

// The same for tasks of one type.
inline task<> when_all(std::vector<task<>> tasks) {
    std::vector<std::exception_ptr> thrown(tasks.size());
    std::vector<std::optional<detail::nothing>> results(tasks.size());
    std::vector<task<>> running;
    running.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        running.push_back(detail::keep_result<void>(std::move(tasks[i]), results[i], thrown[i]));
    co_await detail::all_of(running);
    detail::rethrow_first(thrown);
}

// Their results, in the order of the tasks.
template <class T>
    requires(!std::is_void_v<T>)
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    std::vector<std::exception_ptr> thrown(tasks.size());
    std::vector<std::optional<T>> results(tasks.size());
    std::vector<task<>> running;
    running.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        running.push_back(detail::keep_result<T>(std::move(tasks[i]), results[i], thrown[i]));
    co_await detail::all_of(running);
    detail::rethrow_first(thrown);
    std::vector<T> all;
    all.reserve(results.size());
    for (std::optional<T> &one : results)
        all.push_back(std::move(*one));
    co_return all;
}

// What ended first.
template <class T>
struct first_of {
    std::size_t index = 0;
    detail::result_or_nothing<T> value{};
};

namespace detail {

template <class T>
struct race {
    std::stop_source stop;
    std::atomic<bool> won = false;
    std::size_t index = 0;
    std::optional<result_or_nothing<T>> result;
    std::exception_ptr thrown;
};

template <class T>
task<> run_in(race<T> &of, std::size_t index, task<T> one) {
    std::optional<result_or_nothing<T>> result;
    std::exception_ptr thrown;
    HF_CORO_TRY {
        co_await keep_result<T>(std::move(one), result, thrown);
    }
    HF_CORO_CATCH(...) {
        thrown = std::current_exception(); // no memory for its frame
    }
    if (of.won.exchange(true, std::memory_order_acq_rel))
        co_return;
    of.index = index;
    of.thrown = thrown;
    HF_CORO_TRY {
        of.result = std::move(result);
    }
    HF_CORO_CATCH(...) {
        of.thrown = std::current_exception();
    }
    of.stop.request_stop(); // whatever was thrown: the others wait for it
}

template <class T, std::size_t... I, class... Function>
task<first_of<T>> when_any_in_order(std::index_sequence<I...>, Function... functions) {
    race<T> running;
    std::array<task<>, sizeof...(Function)> tasks{run_in<T>(running, I, functions(running.stop.get_token()))...};
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    co_return first_of<T>{running.index, std::move(*running.result)};
}

template <class T, class... Function>
task<first_of<T>> when_any_of(Function... functions) {
    return when_any_in_order<T>(std::index_sequence_for<Function...>(), std::move(functions)...);
}

} // namespace detail

// A function that makes a task which ends early when the token says so.
template <class Function>
concept stoppable_task = requires(Function &make, std::stop_token token) {
    typename decltype(make(token))::result_type;
    requires std::same_as<decltype(make(token)), task<typename decltype(make(token))::result_type>>;
};

// co_await when_any([&](std::stop_token s) { return a(s); }, ...): index and result of the first that ends, or its
// exception. The others are requested to stop, and waited for. All have one result type.
template <class First, class... Others>
    requires(stoppable_task<std::decay_t<First>> && ... && stoppable_task<std::decay_t<Others>>)
[[nodiscard]] auto when_any(First &&first, Others &&...others) {
    detail::may_be_made_within_co_await<First>();
    (detail::may_be_made_within_co_await<Others>(), ...);
    using result = typename std::invoke_result_t<std::decay_t<First> &, std::stop_token>::result_type;
    return detail::when_any_of<result, std::decay_t<First>, std::decay_t<Others>...>(std::forward<First>(first),
                                                                                     std::forward<Others>(others)...);
}

} // namespace holdfast::coro
