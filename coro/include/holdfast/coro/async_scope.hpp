// SPDX-License-Identifier: MIT OR Apache-2.0
// A scope for tasks that run by themselves: it counts them, stops all of them, and is joined before what they refer to
// goes.
//
//     co_await with_scope([&](async_scope &scope) -> task<> {
//         while (auto one = co_await accept(scope.get_token()))
//             scope.spawn(serve(std::move(one), scope.get_token()));
//     });                                                  // all have ended, however this is left
//
//      running_: 0 --spawn()--> 1 --spawn()--> 2 --a task has ended--> 1 --a task has ended--> 0: join() goes on
//
// coro.J1  A join ends after the frames of all tasks are gone that were spawned before, or by one of those.
// coro.J2  While nothing runs nobody waits for it.
// coro.J3  A task whose end is counted touches the scope no more: who has joined may destroy it.
// coro.J4  A join that throws nothing says that each task has run to its end.
// Model: verify/coro/scope.pml. Test: tests/coro/async_scope_test.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/detail/waited_on.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

// What a task's exception means to the others of its scope.
enum class on_failure { stop_others, go_on };

class [[nodiscard]] async_scope : public detail::waited_on<async_scope> {
public:
    // Its tasks run on `home`; they are requested to stop when `parent` is. Throws std::bad_alloc.
    explicit async_scope(executor_base &home, std::stop_token parent = {}, on_failure what = on_failure::stop_others)
        : home_(home), on_failure_(what) {
        if (parent.stop_possible())
            parent_.emplace(std::move(parent), pass_on_stop{this});
    }
    // Requires, of a coroutine on an executor, that it has been joined: it can't wait here, and the program ends with a
    // sentence. A thread requests all to stop, and blocks until they have ended; so does the end of an executor that
    // destroys the scope of tasks on another one.
    ~async_scope() {
        parent_.reset();
        wait_by_blocking();
    }

    // The task runs by itself, on the scope's executor. If that has ended it is destroyed at once, and counts as one
    // that was lost (join()). From any thread that knows the scope to be there: a task of the scope, say. Allocates a
    // frame; on std::bad_alloc nothing has begun. O(1).
    void spawn(task<> one) {
        detail::rooted root = run_in(std::move(one), *this);
        {
            spin_lock held(guard_);
            running_++;
            unfinished_++;
        }
        root.start(home_, ended, this);
    }
    // A function that gives a task, perhaps of the scope's stop token; it is kept until the task has ended.
    template <class Function>
        requires std::same_as<std::invoke_result_t<Function &>, task<>>
    void spawn(Function begin) {
        auto keep = [](Function kept) -> task<> { co_await kept(); };
        spawn(keep(std::move(begin)));
    }
    template <class Function>
        requires std::same_as<std::invoke_result_t<Function &, std::stop_token>, task<>>
    void spawn(Function begin) {
        auto keep = [](Function kept, std::stop_token token) -> task<> { co_await kept(std::move(token)); };
        spawn(keep(std::move(begin), get_token()));
    }

    class join_awaiter;
    // co_await scope.join(): until no task is left. Then throws the first exception that came out of one; or else
    // executor_stopped, if the executor ended before a task did. May be called again, also after more was spawned.
    // O(1); the last task O(those that join).
    [[nodiscard]] join_awaiter join() noexcept;

    // All tasks are requested to stop, those that are spawned later, too. Runs the callbacks of that token. From any
    // thread.
    bool request_stop() noexcept { return stop_.request_stop(); }
    [[nodiscard]] std::stop_token get_token() const noexcept { return stop_.get_token(); }
    // How many have not ended. From any thread; it may be another number by now.
    [[nodiscard]] std::size_t size() const noexcept {
        spin_lock held(guard_);
        return running_;
    }
    // Says that something of the scope's, though no task of it, has failed: join() throws `thrown` if it is the first.
    void fail(std::exception_ptr thrown) noexcept {
        {
            spin_lock held(guard_);
            if (!thrown_)
                thrown_.swap(thrown);
        }
        if (on_failure_ == on_failure::stop_others)
            request_stop();
    }

private:
    friend class detail::waited_on<async_scope>;
    static constexpr primitive_kind observed_as = primitive_kind::scope;

    struct pass_on_stop {
        async_scope *to;
        void operator()() const noexcept { to->request_stop(); }
    };

    static detail::rooted run_in(task<> one, async_scope &of) {
        HF_CORO_TRY {
            co_await std::move(one);
        }
        HF_CORO_CATCH(...) {
            of.fail(std::current_exception());
        }
        spin_lock held(of.guard_);
        of.unfinished_--;
    }
    // After the task's frame has gone, by its end or by that of its executor.
    static void ended(void *scope) noexcept {
        auto &self = *static_cast<async_scope *>(scope);
        wait_list chosen;
        blocked_thread *blocked = nullptr;
        {
            spin_lock held(self.guard_);
            if (--self.running_ > 0)
                return;
            if (std::exchange(self.unfinished_, 0) > 0) // coro.J4
                self.lost_ = true;
            self.waiters_.choose_all(chosen); // coro.J2
            blocked = self.blocked_;
        }
        // coro.J3
        schedule_all(chosen);
        if (blocked)
            blocked_thread::ended(blocked);
    }

    bool take(const waiter *) const noexcept { return running_ == 0; }
    void give_back(const waiter &) const noexcept {}
    void someone_left() const noexcept {}

    void rethrow() {
        std::exception_ptr thrown;
        bool lost = false;
        {
            spin_lock held(guard_);
            thrown.swap(thrown_);
            lost = std::exchange(lost_, false);
        }
        if (thrown)
            std::rethrow_exception(thrown);
        if (lost)
            detail::throw_executor_stopped();
    }

    using blocked_thread = detail::waited_for<void>;
    void wait_by_blocking() noexcept {
        blocked_thread me;
        {
            spin_lock held(guard_);
            if (running_ == 0)
                return;
            blocked_ = &me;
        }
        if (const run_context *context = current_context(); context && context->home)
            detail::misused("a scope is destroyed by a coroutine while tasks of it run: co_await scope.join() before, "
                            "or use with_scope(), which does so however it is left");
        request_stop();
        std::unique_lock held(me.lock);
        me.changed.wait(held, [&] { return me.over; });
    }

    executor_base &home_;
    on_failure on_failure_;
    std::size_t running_ = 0;    // whose frames are there
    std::size_t unfinished_ = 0; // spawned, and not run to their end; above running_: destroyed with their executor
    bool lost_ = false;          // there were such
    std::exception_ptr thrown_;  // the first
    blocked_thread *blocked_ = nullptr;
    std::stop_source stop_;
    std::optional<std::stop_callback<pass_on_stop>> parent_;
};

class [[nodiscard]] async_scope::join_awaiter : public detail::wait_for_ever<async_scope> {
public:
    using detail::wait_for_ever<async_scope>::wait_for_ever;
    void await_resume() {
        detail::wait_for_ever<async_scope>::await_resume();
        this->of_.rethrow();
    }
};

inline async_scope::join_awaiter async_scope::join() noexcept {
    return join_awaiter(*this);
}

namespace detail {

[[nodiscard]] inline executor_base &this_executor() {
    const run_context *context = current_context();
    if (!context || !context->home)
        throw_no_executor();
    return *context->home;
}

template <class Function>
using scope_task = std::invoke_result_t<std::decay_t<Function> &, async_scope &>;

template <class T, class Function>
task<T> run_scope(executor_base *home, std::stop_token parent, Function body) {
    async_scope scope(home ? *home : this_executor(), std::move(parent));
    std::optional<result_or_nothing<T>> result;
    HF_CORO_TRY {
        task<T> first = body(scope);
        if constexpr (std::is_void_v<T>) {
            co_await std::move(first);
            result.emplace();
        } else {
            result.emplace(co_await std::move(first));
        }
    }
    HF_CORO_CATCH(...) {
        scope.fail(std::current_exception());
    }
    co_await scope.join();
    if constexpr (!std::is_void_v<T>)
        co_return std::move(*result);
}

} // namespace detail

// co_await with_scope([&](async_scope &scope) -> task<T> { ... }): what the function's task gives, once that and all
// that was spawned into the scope have ended. An exception of one of them requests all others to stop, and the first
// comes out. `body` is kept until then; its task's variables are not, so what the tasks refer to lives outside. On the
// caller's executor, or on `home`. Throws no_executor where the caller is on none. Allocates two frames.
template <class Function>
    requires std::same_as<detail::scope_task<Function>, task<typename detail::scope_task<Function>::result_type>>
[[nodiscard]] auto with_scope(Function &&body, std::stop_token parent = {}) {
    detail::may_be_made_within_co_await<Function>();
    using result = typename detail::scope_task<Function>::result_type;
    return detail::run_scope<result, std::decay_t<Function>>(nullptr, std::move(parent), std::forward<Function>(body));
}
template <class Function>
    requires std::same_as<detail::scope_task<Function>, task<typename detail::scope_task<Function>::result_type>>
[[nodiscard]] auto with_scope(executor_base &home, Function &&body, std::stop_token parent = {}) {
    detail::may_be_made_within_co_await<Function>();
    using result = typename detail::scope_task<Function>::result_type;
    return detail::run_scope<result, std::decay_t<Function>>(&home, std::move(parent), std::forward<Function>(body));
}

} // namespace holdfast::coro
