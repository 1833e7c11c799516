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
// coro.C4  An awaited notification gives its thread to a waiter that owns the mutex alone, once all others that were
//     notified are in the mutex's list or scheduled: from then on its own frame may be gone.
// Model: verify/coro/condition.pml. Tests: tests/coro/primitives_test, tests/coro/notification_test.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
    class notification;

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

    // c.notify_one(); as a plain function, from any thread, with or without the mutex: whoever gets the mutex by it is
    // queued. co_await c.notify_one(); in a coroutine that does not have the mutex: whoever gets it goes on here, at
    // once, and the caller is queued (CES paper, 5.2). What is not awaited notifies where it is destroyed: at the end
    // of the statement, if nobody keeps it. O(1), O(waiters).
    notification notify_one() noexcept { return notification(*this, 1); }
    notification notify_all() noexcept { return notification(*this, SIZE_MAX); }

private:
    // Each waiter is put into its mutex's list, or becomes its owner and goes to `take_owner`. The condition variable
    // may be gone when the first has been.
    template <class TakeOwner>
    void notify(std::size_t waiters_max, TakeOwner take_owner) noexcept {
        wait_list chosen;
        {
            spin_lock guarded(guard_);
            for (std::size_t i = 0; i < waiters_max; i++) {
                waiter *one = waiters_.choose();
                if (!one)
                    break;
                chosen.append(*one);
            }
        }
        while (waiter *one = chosen.first()) {
            chosen.unlink(*one);
            if (static_cast<limited_wait_awaiter *>(one)->owns_again(true))
                take_owner(*one);
        }
    }

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
        note_begin(primitive_kind::condition_variable, &of_);
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
            else
                note_given_up(primitive_kind::condition_variable, &of_);
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

    // coro.C2. It can't be cancelled any more. True when it has the mutex; else it may be gone.
    [[nodiscard]] bool owns_again(bool notified) noexcept {
        notified_ = notified;
        wants_mutex_ = true;
        return mutex_->own_or_wait(*this);
    }
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<limited_wait_awaiter &>(one);
        {
            spin_lock guarded(self.of_.guard_);
            self.of_.waiters_.unlink(one);
        }
        if (self.owns_again(false))
            schedule_owner(self);
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

template <policy Policy>
class basic_condition_variable<Policy>::notification {
public:
    notification(const notification &) = delete;
    notification &operator=(const notification &) = delete;
    ~notification() {
        if (!awaited_)
            of_.notify(waiters_max_, schedule_owner);
    }
    [[nodiscard]] bool await_ready() noexcept {
        awaited_ = true;
        owner_ = nullptr; // coro.W5
        of_.notify(waiters_max_, [this](waiter &one) noexcept {
            if (!owner_)
                owner_ = &one;
            else
                schedule_owner(one); // of another mutex
        });
        return !owner_;
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
        return hand_over<Policy>(self, *owner_, frame_, passage::notified); // coro.C4
    }
    void await_resume() const noexcept {}

private:
    friend class basic_condition_variable;
    notification(basic_condition_variable &of, std::size_t waiters_max) noexcept : of_(of), waiters_max_(waiters_max) {}

    basic_condition_variable &of_; // may be gone once it has notified
    std::size_t waiters_max_;
    waiter *owner_ = nullptr; // of the mutex, by this
    deferred frame_;
    bool awaited_ = false;
};

using condition_variable = basic_condition_variable<policy::ces>;

} // namespace holdfast::coro
