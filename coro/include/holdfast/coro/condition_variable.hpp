// SPDX-License-Identifier: MIT OR Apache-2.0
// A condition variable for the coroutine mutex.
//
//      wait: linked here, mutex released --> notified --> owner, or in the mutex's list --> has the mutex, goes on
//                                       +--> limit reached --^
//
// coro.C1  A notification that comes after a wait was linked reaches it, or one that came before it. It is linked
//     before the mutex is released, so what changed under the mutex is not missed.
// coro.C2  A notified waiter never runs only to find the mutex taken: it is put into the mutex's list, or made its
//     owner.
// coro.C3  The guard has the mutex exactly while the coroutine runs: not while it waits, in either list.
// Model: verify/coro/condition.pml. Test: tests/coro/primitives_test.
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

template <policy Policy>
class [[nodiscard]] basic_condition_variable {
public:
    using lock_type = basic_scoped_lock<Policy>;
    class wait_awaiter;
    class limited_wait_awaiter;

    basic_condition_variable() = default;
    basic_condition_variable(const basic_condition_variable &) = delete;
    basic_condition_variable &operator=(const basic_condition_variable &) = delete;

    // co_await c.wait(held): releases the mutex, whose next owner gets this thread, until it is notified; then the
    // caller has the mutex again. Requires held.owns_lock(). O(1).
    [[nodiscard]] wait_awaiter wait(lock_type &held) { return wait_awaiter(*this, held); }
    // With a limit: false when that was reached before a notification; the caller has the mutex again all the same. One
    // that was reached before the call does not even release it: a task that polls so shuts the others out.
    [[nodiscard]] limited_wait_awaiter wait(lock_type &held, std::stop_token token) {
        return limited_wait_awaiter(*this, held, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] limited_wait_awaiter wait_for(lock_type &held, std::chrono::duration<Rep, Period> time,
                                                std::stop_token token = {}) {
        return wait_until(held, deadline_after(time), std::move(token));
    }
    [[nodiscard]] limited_wait_awaiter wait_until(lock_type &held, deadline_clock::time_point deadline,
                                                  std::stop_token token = {}) {
        return limited_wait_awaiter(*this, held, {deadline, std::move(token)});
    }
    // co_await c.wait(held, [&] { return ready; }). Allocates a frame.
    template <class Predicate>
        requires std::predicate<std::decay_t<Predicate> &>
    [[nodiscard]] task<> wait(lock_type &held, Predicate &&predicate) {
        detail::may_be_made_within_co_await<Predicate>();
        return wait_until_it_holds(held, std::decay_t<Predicate>(std::forward<Predicate>(predicate)));
    }
    // With a limit: what the predicate says in the end.
    template <class Predicate>
        requires std::predicate<std::decay_t<Predicate> &>
    [[nodiscard]] task<bool> wait(lock_type &held, std::stop_token token, Predicate &&predicate) {
        detail::may_be_made_within_co_await<Predicate>();
        return wait_within(held, {std::nullopt, std::move(token)},
                           std::decay_t<Predicate>(std::forward<Predicate>(predicate)));
    }
    template <class Rep, class Period, class Predicate>
        requires std::predicate<std::decay_t<Predicate> &>
    [[nodiscard]] task<bool> wait_for(lock_type &held, std::chrono::duration<Rep, Period> time, Predicate &&predicate,
                                      std::stop_token token = {}) {
        return wait_until(held, deadline_after(time), std::forward<Predicate>(predicate), std::move(token));
    }
    template <class Predicate>
        requires std::predicate<std::decay_t<Predicate> &>
    [[nodiscard]] task<bool> wait_until(lock_type &held, deadline_clock::time_point deadline, Predicate &&predicate,
                                        std::stop_token token = {}) {
        detail::may_be_made_within_co_await<Predicate>();
        return wait_within(held, {deadline, std::move(token)},
                           std::decay_t<Predicate>(std::forward<Predicate>(predicate)));
    }

    // From any thread, with or without the mutex. O(1), O(waiters).
    void notify_one() noexcept {
        waiter *one = nullptr;
        {
            spin_lock guarded(guard_);
            one = waiters_.choose();
        }
        if (one)
            static_cast<limited_wait_awaiter *>(one)->lock_again(true);
    }
    void notify_all() noexcept {
        wait_list chosen;
        {
            spin_lock guarded(guard_);
            while (waiter *one = waiters_.choose())
                chosen.append(*one);
        }
        while (waiter *one = chosen.first()) {
            chosen.unlink(*one);
            static_cast<limited_wait_awaiter *>(one)->lock_again(true);
        }
    }

private:
    template <class Predicate>
    task<> wait_until_it_holds(lock_type &held, Predicate predicate) {
        while (!predicate())
            co_await wait(held);
    }
    template <class Predicate>
    task<bool> wait_within(lock_type &held, wait_limits limits, Predicate predicate) {
        for (bool notified = true; notified;) {
            if (predicate())
                co_return true;
            limited_wait_awaiter next(*this, held, limits);
            notified = co_await next;
        }
        co_return predicate();
    }

    spin_guard guard_;
    wait_list waiters_;
};

template <policy Policy>
class [[nodiscard]] basic_condition_variable<Policy>::limited_wait_awaiter : private limited_waiter {
public:
    limited_wait_awaiter(basic_condition_variable &of, lock_type &held, wait_limits limits)
        : limited_waiter(std::move(limits), withdraw), of_(of), held_(held) {}
    ~limited_wait_awaiter() {
        if (!suspended_)
            return;
        disarm();
        leave_lists();
        leave_home();
    }
    [[nodiscard]] bool await_ready() {
        detail::require(held_.owns_lock(),
                        "a condition variable is waited for without its mutex: pass a guard that has it");
        notified_ = wants_mutex_ = false; // coro.W5
        return limits_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        prepare(self);
        arm();
        suspended_ = true;
        basic_mutex<Policy> *released = mutex_ = held_.release();
        bool waits = false;
        {
            spin_lock guarded(of_.guard_);
            waits = of_.waiters_.link(*this);
        }
        if (waits)
            released->unlock_suspended(); // until then nobody else can resume this coroutine; after it, it may be gone
        return waits;
    }
    [[nodiscard]] bool await_resume() {
        if (suspended_) {
            disarm();
            suspended_ = false;
            if (home_has_ended()) [[unlikely]] {
                leave_lists();
                detail::throw_executor_stopped();
            }
            held_ = lock_type(*mutex_, std::adopt_lock);
            if (notified_)
                note_end(primitive_kind::condition_variable, &of_);
            else if (detail::noting(detail::counting))
                detail::note_given_up(primitive_kind::condition_variable, &of_);
            detail::section_begins(mutex_);
        }
        return notified_;
    }

private:
    friend class basic_condition_variable;

    // What the waiter has left may be gone: a condition variable may be destroyed once its waiters are notified. So may
    // be what an orphan waited for.
    void leave_lists() noexcept {
        if (wants_mutex_) {
            mutex_->abandon(*this);
        } else if (!was(wait_state::orphaned)) {
            spin_lock guarded(of_.guard_);
            if (was(wait_state::waiting))
                of_.waiters_.unlink(*this);
        }
    }

    // coro.C2. It can't be cancelled any more.
    void lock_again(bool notified) noexcept {
        notified_ = notified;
        wants_mutex_ = true;
        if (mutex_->own_or_wait(*this))
            schedule_owner(*this);
    }
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<limited_wait_awaiter &>(one);
        {
            spin_lock guarded(self.of_.guard_);
            self.of_.waiters_.unlink(one);
        }
        self.lock_again(false);
    }

    basic_condition_variable &of_;
    lock_type &held_;
    basic_mutex<Policy> *mutex_ = nullptr;
    bool suspended_ = false;
    bool notified_ = false;
    bool wants_mutex_ = false; // it has left the condition variable
};

// Without a limit: it ends by a notification alone.
template <policy Policy>
class [[nodiscard]] basic_condition_variable<Policy>::wait_awaiter : public limited_wait_awaiter {
public:
    wait_awaiter(basic_condition_variable &of, lock_type &held) : limited_wait_awaiter(of, held, {}) {}
    void await_resume() { static_cast<void>(limited_wait_awaiter::await_resume()); }
};

using condition_variable = basic_condition_variable<policy::ces>;

} // namespace holdfast::coro
