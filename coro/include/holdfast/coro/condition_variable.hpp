// SPDX-License-Identifier: MIT OR Apache-2.0
// A condition variable for the coroutine mutex.
//
//      wait: linked here, mutex released --> notified --> owner, or in the mutex's list --> has the mutex, goes on
//                                       +--> limit reached --^
//
// C1  A notification that comes after a wait was linked reaches it, or one that came before it. It is linked before the
//     mutex is released, so what changed under the mutex is not missed.
// C2  A notified waiter never runs only to find the mutex taken: it is put into the mutex's list, or made its owner.
// C3  The guard has the mutex exactly while the coroutine runs: not while it waits, in either list.
// Model: verify/coro_condition.pml. Test: tests/coro/primitives_test.
#pragma once

#include <chrono>
#include <utility>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

template <policy Policy>
class [[nodiscard]] basic_condition_variable {
public:
    using lock_type = basic_scoped_lock<Policy>;
    class wait_awaiter;

    basic_condition_variable() = default;
    basic_condition_variable(const basic_condition_variable &) = delete;
    basic_condition_variable &operator=(const basic_condition_variable &) = delete;

    // co_await c.wait(held): releases the mutex, whose next owner gets this thread; true when notified. With a limit:
    // false when that was reached first. Either way the caller has the mutex again. Requires held.owns_lock(). O(1).
    [[nodiscard]] wait_awaiter wait(lock_type &held) { return wait_awaiter(*this, held, {}); }
    [[nodiscard]] wait_awaiter wait(lock_type &held, std::stop_token token) {
        return wait_awaiter(*this, held, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] wait_awaiter wait_for(lock_type &held, std::chrono::duration<Rep, Period> time,
                                        std::stop_token token = {}) {
        return wait_awaiter(*this, held, {deadline_after(time), std::move(token)});
    }
    // co_await c.wait(held, [&] { return ready; }). Allocates a frame.
    template <std::predicate Predicate>
    [[nodiscard]] task<> wait(lock_type &held, Predicate predicate) {
        while (!predicate())
            static_cast<void>(co_await wait(held));
    }

    // From any thread, with or without the mutex. O(1), O(waiters).
    void notify_one() noexcept {
        waiter *one = nullptr;
        {
            spin_lock guarded(guard_);
            one = waiters_.choose();
        }
        if (one)
            static_cast<wait_awaiter *>(one)->lock_again(true);
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
            static_cast<wait_awaiter *>(one)->lock_again(true);
        }
    }

private:
    spin_guard guard_;
    wait_list waiters_;
};

template <policy Policy>
class [[nodiscard]] basic_condition_variable<Policy>::wait_awaiter : private limited_waiter {
public:
    wait_awaiter(basic_condition_variable &of, lock_type &held, wait_limits limits)
        : limited_waiter(std::move(limits), withdraw), of_(of), held_(held) {}
    ~wait_awaiter() {
        if (!suspended_)
            return;
        disarm();
        if (was(wait_state::committed))
            mutex_->abandon(*this);
        spin_lock guarded(of_.guard_);
        if (was(wait_state::waiting))
            of_.waiters_.unlink(*this);
    }
    [[nodiscard]] bool await_ready() {
        notified_ = false; // W5
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
    [[nodiscard]] bool await_resume() noexcept {
        if (suspended_) {
            disarm();
            suspended_ = false;
            held_ = lock_type(*mutex_, std::adopt_lock);
            note_end(primitive_kind::condition_variable, &of_);
            detail::section_begins(mutex_);
        }
        return notified_;
    }

private:
    friend class basic_condition_variable;

    // C2. It can't be cancelled any more.
    void lock_again(bool notified) noexcept {
        notified_ = notified;
        if (mutex_->own_or_wait(*this))
            schedule_owner(*this);
    }
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<wait_awaiter &>(one);
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
};

using condition_variable = basic_condition_variable<policy::ces>;

} // namespace holdfast::coro
