// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting for a primitive whose words are all kept together by one guard: what event, latch, barrier, semaphore,
// shared_mutex and async_scope have in common.
//
// A primitive has take(waiter *), give_back(waiter &), someone_left() and observed_as, its kind:
//   take           under the guard: gives what is wanted, if it is there and nobody waits before; null: a caller
//                  without a waiter
//   give_back      without the guard: a waiter was chosen but its coroutine is destroyed; what it was given goes on
//   someone_left   without the guard: a waiter that may have been before others has gone
#pragma once

#include <utility>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/policy.hpp"
#include "holdfast/coro/detail/spin_guard.hpp"
#include "holdfast/coro/detail/wait_awaiters.hpp"
#include "holdfast/coro/detail/waiter.hpp"

namespace holdfast::coro {

// Lets all of a list, which nobody else has, go on.
inline void schedule_all(wait_list &chosen) noexcept {
    while (waiter *one = chosen.first()) {
        chosen.unlink(*one); // coro.W3: before it may go on
        schedule(*one);
    }
}

// The same for those who were given a lock, or a part of it: others wait for them.
template <policy Policy>
void schedule_owners(wait_list &chosen) noexcept {
    while (waiter *one = chosen.first()) {
        chosen.unlink(*one); // coro.W3
        hand_over_unsuspended<Policy>(*one);
    }
}

namespace detail {

template <class Primitive>
class waited_on {
public:
    waited_on() = default;
    waited_on(const waited_on &) = delete;
    waited_on &operator=(const waited_on &) = delete;

    // The awaiters' side (wait_awaiters.hpp) --------------------------------------------------------------------------

    [[nodiscard]] bool take_at_once(waiter &one) noexcept {
        spin_lock held(guard_);
        return self().take(&one);
    }
    [[nodiscard]] entry enter(waiter &one) noexcept {
        spin_lock held(guard_);
        if (one.was(wait_state::cancelled))
            return entry::cancelled;
        if (self().take(&one)) {
            if (one.advance(wait_state::arming, wait_state::chosen))
                return entry::got_it;
            // Cancelled just now, and given what it wanted: that counts.
            one.state.store(wait_state::chosen, std::memory_order_release);
            return entry::got_it;
        }
        return waiters_.link(one) ? entry::waits : entry::cancelled;
    }
    void withdraw(waiter &one) noexcept {
        {
            spin_lock held(guard_);
            waiters_.unlink(one);
        }
        self().someone_left();
        schedule(one);
    }
    void abandon(waiter &one) noexcept {
        bool was_linked = false;
        {
            spin_lock held(guard_);
            was_linked = one.linked;
            waiters_.unlink(one);
        }
        if (!was_linked && one.was(wait_state::chosen))
            self().give_back(one);
        else if (was_linked)
            self().someone_left();
    }

    void suspends(const waiter &one) const noexcept { one.note_begin(Primitive::observed_as, this); }
    void resumed(const waiter &one) const noexcept { one.note_end(Primitive::observed_as, this); }

protected:
    ~waited_on() = default;

    mutable spin_guard guard_;
    wait_list waiters_;

private:
    Primitive &self() noexcept { return static_cast<Primitive &>(*this); }
};

// Ends a primitive's operation that gave a lock to waiters while its caller may be suspended: the first goes on here,
// as the policy says, the others are scheduled before.
template <policy Policy>
bool hand_over_first(std::coroutine_handle<> self, wait_list &chosen, deferred &frame) noexcept {
    waiter *first = chosen.first();
    if (!first)
        return false;
    chosen.unlink(*first);
    schedule_owners<Policy>(chosen);
    return hand_over<Policy>(self, *first, frame);
}

// co_await of an operation that gives a lock to waiters, or ends the caller's turn (turn.hpp) when there are none.
// Operation: void(wait_list &), puts the chosen waiters there.
template <policy Policy, class Operation>
class [[nodiscard]] giving : private deferred {
public:
    explicit giving(Operation operation) noexcept : operation_(operation) {}
    giving(const giving &) = delete;
    giving &operator=(const giving &) = delete;
    ~giving() {
        if (!awaited_) [[unlikely]] {
            not_awaited();
            operation_(chosen_);
            schedule_owners<Policy>(chosen_);
        }
    }
    [[nodiscard]] bool await_ready() noexcept {
        awaited_ = true;
        operation_(chosen_);
        return chosen_.empty() && !turn_is_over();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
        if (chosen_.empty())
            return end_turn(self);
        wait_list chosen = std::exchange(chosen_, {}); // taken out: this may be gone before its last one is scheduled
        return hand_over_first<Policy>(self, chosen, *this);
    }
    void await_resume() const noexcept {}

private:
    Operation operation_;
    wait_list chosen_;
    bool awaited_ = false;
};

} // namespace detail

} // namespace holdfast::coro
