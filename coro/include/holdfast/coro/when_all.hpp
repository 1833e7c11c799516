// SPDX-License-Identifier: MIT OR Apache-2.0
// Several tasks at once. All here wait until every task has ended, so that none outlives what it refers to. Tests:
// tests/coro/primitives_test, tests/coro/when_any_test, tests/coro/when_all_test.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/detail/stoppable.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

namespace detail {

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

namespace detail {

template <class T>
std::vector<T> each_of(std::vector<std::optional<T>> &results) {
    std::vector<T> all;
    all.reserve(results.size());
    for (std::optional<T> &one : results)
        all.push_back(std::move(*one));
    return all;
}

template <class T>
task<std::conditional_t<std::is_void_v<T>, void, std::vector<result_or_nothing<T>>>>
when_all_among(std::vector<task<T>> tasks) {
    std::vector<std::exception_ptr> thrown(tasks.size());
    std::vector<std::optional<result_or_nothing<T>>> results(tasks.size());
    std::vector<task<>> running;
    running.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        running.push_back(keep_result<T>(std::move(tasks[i]), results[i], thrown[i]));
    co_await all_of(running);
    rethrow_first(thrown);
    if constexpr (!std::is_void_v<T>)
        co_return each_of(results);
}

} // namespace detail

// The same for tasks of one type: their results in that order, or nothing of task<void>. when_all(std::move(tasks)).
template <class T>
[[nodiscard]] auto when_all(std::vector<task<T>> &&tasks) {
    return detail::when_all_among<T>(std::move(tasks));
}

namespace detail {

// What functions of a stop_token share: the first that fails stops the others, and is what comes out.
struct all_or_stop {
    std::stop_source stop;
    std::atomic<bool> failed = false;
    std::exception_ptr thrown;

    void fail(std::exception_ptr by) noexcept {
        if (failed.exchange(true, std::memory_order_acq_rel))
            return;
        thrown = std::move(by);
        stop.request_stop();
    }
};

template <class T>
task<> run_or_stop(all_or_stop &of, task<T> one, std::optional<result_or_nothing<T>> &result) {
    HF_CORO_TRY {
        std::exception_ptr thrown;
        co_await keep_result<T>(std::move(one), result, thrown);
        if (thrown)
            of.fail(std::move(thrown));
    }
    HF_CORO_CATCH(...) {
        of.fail(std::current_exception()); // no memory for its frame
    }
}

template <class... T, std::size_t... I, class... Function>
task<std::tuple<result_or_nothing<T>...>> all_or_stop_of(std::index_sequence<I...>, Function... functions) {
    all_or_stop running;
    std::tuple<std::optional<result_or_nothing<T>>...> results;
    std::array<task<>, sizeof...(T)> tasks{
        run_or_stop<T>(running, functions(running.stop.get_token()), std::get<I>(results))...};
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    co_return std::tuple<result_or_nothing<T>...>(std::move(*std::get<I>(results))...);
}

template <class T, class Function>
task<std::conditional_t<std::is_void_v<T>, void, std::vector<result_or_nothing<T>>>>
all_or_stop_among(std::vector<Function> functions) {
    all_or_stop running;
    std::vector<std::optional<result_or_nothing<T>>> results(functions.size());
    std::vector<task<>> tasks;
    tasks.reserve(functions.size());
    for (std::size_t i = 0; i < functions.size(); i++)
        tasks.push_back(run_or_stop<T>(running, functions[i](running.stop.get_token()), results[i]));
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    if constexpr (!std::is_void_v<T>)
        co_return each_of(results);
}

template <class T>
inline constexpr bool is_vector_of_tasks = false;
template <class T, class Allocator>
inline constexpr bool is_vector_of_tasks<std::vector<task<T>, Allocator>> = true;
template <class What>
inline constexpr bool is_vector_of_tasks_to_take = !std::is_lvalue_reference_v<What> && is_vector_of_tasks<What>;

template <class T>
concept some_range = requires(T &of) {
    std::begin(of) != std::end(of);
    *std::begin(of);
};
template <some_range Range>
using element_of = std::decay_t<decltype(*std::begin(std::declval<Range &>()))>;
template <class Range>
concept stoppable_tasks = some_range<Range> && stoppable_task<element_of<Range>>;

// A copy of a range's functions, or the vector itself.
template <class Range>
auto functions_of(Range &&range) {
    using vector = std::vector<element_of<Range>>;
    if constexpr (std::is_same_v<Range, vector>)
        return vector(std::move(range));
    else
        return vector(std::begin(range), std::end(range));
}

} // namespace detail

// co_await when_all([&](std::stop_token s) { return a(s); }, ...): the results, as above; but an exception that comes
// out of one requests the others to stop, and the first of them in time is thrown once all have ended.
template <class First, class... Others>
    requires(stoppable_task<std::decay_t<First>> && ... && stoppable_task<std::decay_t<Others>>)
[[nodiscard]] auto when_all(First &&first, Others &&...others) {
    detail::may_be_made_within_co_await<First>();
    (detail::may_be_made_within_co_await<Others>(), ...);
    return detail::all_or_stop_of<detail::result_of_stoppable<std::decay_t<First>>,
                                  detail::result_of_stoppable<std::decay_t<Others>>...>(
        std::index_sequence_for<First, Others...>(), std::decay_t<First>(std::forward<First>(first)),
        std::decay_t<Others>(std::forward<Others>(others))...);
}
// The same for a vector of functions, or a copy of another range's.
template <detail::stoppable_tasks Range>
[[nodiscard]] auto when_all(Range &&range) {
    using function = detail::element_of<Range>;
    return detail::all_or_stop_among<detail::result_of_stoppable<function>, function>(
        detail::functions_of<Range>(std::forward<Range>(range)));
}

template <class... What>
    requires(!(stoppable_task<std::decay_t<What>> && ...) && !(detail::is_task<std::decay_t<What>> && ...) &&
             !(detail::stoppable_tasks<What> && ...) &&
             !(sizeof...(What) == 1 && (detail::is_vector_of_tasks_to_take<What> && ...)))
task<> when_all(What &&...) {
    static_assert(!(detail::is_vector_of_tasks<std::decay_t<What>> || ...) || detail::never<std::tuple<What...>>,
                  "when_all takes a vector of tasks over, alone: when_all(std::move(tasks))");
    static_assert((detail::is_vector_of_tasks<std::decay_t<What>> || ...) || detail::never<std::tuple<What...>>,
                  "when_all is given tasks, as when_all(a(), b()); or functions that make them from a std::stop_token, "
                  "as when_all([&](std::stop_token s) { return a(s); }, ...); not both");
    return {};
}

// What ended first.
template <class T>
struct first_of {
    std::size_t index = 0;
    detail::result_or_nothing<T> value{};
};

namespace detail {

template <class Result>
struct race {
    std::stop_source stop;
    std::atomic<bool> won = false;
    std::size_t index = 0;
    std::optional<Result> result;
    std::exception_ptr thrown;
};

// Keep: void(std::optional<Result> &, the task's result).
template <class T, class Result, class Keep>
task<> run_in(race<Result> &of, std::size_t index, task<T> one, Keep keep) {
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
        if (result)
            keep(of.result, std::move(*result));
    }
    HF_CORO_CATCH(...) {
        of.thrown = std::current_exception();
    }
    of.stop.request_stop(); // whatever was thrown: the others wait for it
}

inline constexpr auto keep_alone = [](auto &to, auto &&result) { to.emplace(std::move(result)); };
template <std::size_t I>
inline constexpr auto keep_as = [](auto &to, auto &&result) { to.emplace(std::in_place_index<I>, std::move(result)); };

template <class T, std::size_t... I, class... Function>
task<first_of<T>> when_any_in_order(std::index_sequence<I...>, Function... functions) {
    race<result_or_nothing<T>> running;
    std::array<task<>, sizeof...(Function)> tasks{
        run_in<T>(running, I, functions(running.stop.get_token()), keep_alone)...};
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    co_return first_of<T>{running.index, std::move(*running.result)};
}

// Of several types.
template <class... T, std::size_t... I, class... Function>
task<std::variant<result_or_nothing<T>...>> when_any_mixed(std::index_sequence<I...>, Function... functions) {
    race<std::variant<result_or_nothing<T>...>> running;
    std::array<task<>, sizeof...(Function)> tasks{
        run_in<T>(running, I, functions(running.stop.get_token()), keep_as<I>)...};
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    co_return std::move(*running.result);
}

template <class T, class Function>
task<first_of<T>> when_any_among(std::vector<Function> functions) {
    if (functions.empty())
        HF_CORO_THROW("when_any of nothing would never end", std::invalid_argument("when_any of nothing never ends"));
    race<result_or_nothing<T>> running;
    std::vector<task<>> tasks;
    tasks.reserve(functions.size());
    for (std::size_t i = 0; i < functions.size(); i++)
        tasks.push_back(run_in<T>(running, i, functions[i](running.stop.get_token()), keep_alone));
    co_await all_of(tasks);
    if (running.thrown)
        std::rethrow_exception(running.thrown);
    co_return first_of<T>{running.index, std::move(*running.result)};
}

} // namespace detail

// co_await when_any([&](std::stop_token s) { return a(s); }, ...): index and result of the first that ends, or its
// exception. The others are requested to stop, and waited for. Where the results are of several types: a std::variant
// of them in the order of the functions, whose index() says which was the first.
template <class First, class... Others>
    requires(stoppable_task<std::decay_t<First>> && ... && stoppable_task<std::decay_t<Others>>)
[[nodiscard]] auto when_any(First &&first, Others &&...others) {
    detail::may_be_made_within_co_await<First>();
    (detail::may_be_made_within_co_await<Others>(), ...);
    using result = detail::result_of_stoppable<std::decay_t<First>>;
    auto order = std::index_sequence_for<First, Others...>();
    if constexpr ((std::is_same_v<result, detail::result_of_stoppable<std::decay_t<Others>>> && ...))
        return detail::when_any_in_order<result>(order, std::decay_t<First>(std::forward<First>(first)),
                                                 std::decay_t<Others>(std::forward<Others>(others))...);
    else
        return detail::when_any_mixed<result, detail::result_of_stoppable<std::decay_t<Others>>...>(
            order, std::decay_t<First>(std::forward<First>(first)),
            std::decay_t<Others>(std::forward<Others>(others))...);
}
// The same for a vector of functions, or a copy of another range's. Of none: throws std::invalid_argument.
template <detail::stoppable_tasks Range>
[[nodiscard]] auto when_any(Range &&range) {
    using function = detail::element_of<Range>;
    return detail::when_any_among<detail::result_of_stoppable<function>, function>(
        detail::functions_of<Range>(std::forward<Range>(range)));
}

template <class... What>
    requires(!(stoppable_task<std::decay_t<What>> && ...) && !(detail::stoppable_tasks<What> && ...))
task<> when_any(What &&...) {
    static_assert(detail::never<std::tuple<What...>>,
                  "when_any is given functions that make tasks from a std::stop_token, since those that come late are "
                  "stopped: when_any([&](std::stop_token s) { return a(s); }, ...), or a range of such functions");
    return {};
}

} // namespace holdfast::coro
