// SPDX-License-Identifier: MIT OR Apache-2.0
// One value, sent once, to a task that may wait for it: a reply, say. Allocates nothing.
//
//      EMPTY --send()--> SENT: a receive gets the value, others nothing
//        \---close()--> SENT, without a value
//
// coro.O1  A value that was sent is received once, or is there until the oneshot is destroyed.
// coro.O2  Nobody waits once it was sent or closed.
// Test: tests/coro/channels_test.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/waited_on.hpp"

namespace holdfast::coro {

template <class T>
class [[nodiscard]] oneshot : public detail::waited_on<oneshot<T>> {
    static_assert(std::is_object_v<T>, "a oneshot's value is an object: send a pointer instead of a reference");
    static_assert(std::is_nothrow_move_constructible_v<T>, "a oneshot's value must move without exceptions: send a "
                                                           "std::unique_ptr to what can't");
    template <class Wait>
    class receiving : public Wait {
    public:
        using Wait::Wait;
        [[nodiscard]] std::optional<T> await_resume() {
            static_cast<void>(Wait::await_resume());
            return this->of_.try_receive();
        }
    };

public:
    // From any thread; the receiver may destroy the oneshot as soon as it has the value. False when one was sent
    // before, or it is closed: the value is dropped then. O(waiters).
    bool send(T value) noexcept {
        return settle([&] { value_.emplace(std::move(value)); });
    }
    // Nothing will be sent. From any thread.
    void close() noexcept {
        static_cast<void>(settle([] {}));
    }
    // co_await o.receive(): nothing when it was closed, another has received the value, or a limit was reached. O(1).
    [[nodiscard]] auto receive() noexcept { return receiving<detail::wait_for_ever<oneshot>>(*this); }
    [[nodiscard]] auto receive(std::stop_token token) { return limited({std::nullopt, std::move(token)}); }
    template <class Rep, class Period>
    [[nodiscard]] auto receive_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return receive_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto receive_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited({deadline, std::move(token)});
    }
    // From any thread.
    [[nodiscard]] std::optional<T> try_receive() noexcept {
        spin_lock held(this->guard_);
        return std::exchange(value_, std::nullopt);
    }
    // Whether it was sent, or closed.
    [[nodiscard]] bool settled() const noexcept {
        spin_lock held(this->guard_);
        return settled_;
    }

private:
    friend class detail::waited_on<oneshot>;
    static constexpr primitive_kind observed_as = primitive_kind::channel;

    auto limited(wait_limits limits) {
        return receiving<detail::wait_within_limits<oneshot>>(*this, 0, std::move(limits));
    }
    bool settle(auto put) noexcept {
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            if (settled_)
                return false;
            put();
            settled_ = true;
            this->waiters_.choose_all(chosen); // coro.O2
        }
        schedule_all(chosen);
        return true;
    }
    bool take(const waiter *) const noexcept { return settled_; }
    void give_back(const waiter &) const noexcept {} // coro.O1: the value is still there
    void someone_left() const noexcept {}

    std::optional<T> value_;
    bool settled_ = false;
};

} // namespace holdfast::coro
