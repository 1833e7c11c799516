// SPDX-License-Identifier: MIT OR Apache-2.0
// Values that each of several receivers gets, from the time on at which it was made. Senders do not wait: a receiver
// that is more than `capacity` values behind misses the oldest, and can know how many.
//
//      positions:  0 ... sent_ - capacity | ........ sent_ - 1 |
//                   gone, or missed        what is there        ^ what a new receiver gets first
//
// coro.K1  A receiver gets the values in the order in which they were sent, each once, but for those that it has
//     missed, which are counted.
// coro.K2  It waits only while it has got, or missed, all that was sent, and the broadcast is not closed.
// Test: tests/coro/channels_test.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/coro/detail/waited_on.hpp"

namespace holdfast::coro {

template <class T>
class [[nodiscard]] broadcast : public detail::waited_on<broadcast<T>> {
public:
    class receiver;

    // Allocates room for `capacity` values. Requires capacity > 0.
    explicit broadcast(std::size_t capacity) : last_(capacity) {
        detail::require(capacity > 0, "a broadcast has room for no value: nobody could receive one");
    }

    // From any thread. False when it is closed. O(waiters). Throws std::bad_alloc.
    bool send(T value) {
        auto one = std::make_shared<const T>(std::move(value));
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            if (closed_)
                return false;
            last_[sent_++ % last_.size()].swap(one); // what was there goes without the guard
            this->waiters_.choose_all(chosen);       // coro.K2
        }
        schedule_all(chosen);
        return true;
    }
    // From any thread. Receivers get what is there, then nothing.
    void close() noexcept {
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            closed_ = true;
            this->waiters_.choose_all(chosen); // coro.K2
        }
        schedule_all(chosen);
    }
    [[nodiscard]] bool closed() const noexcept {
        spin_lock held(this->guard_);
        return closed_;
    }

private:
    friend class detail::waited_on<broadcast>;
    static constexpr primitive_kind observed_as = primitive_kind::channel;

    bool take(const waiter *one) const noexcept { return one->wanted != sent_ || closed_; }
    void give_back(const waiter &) const noexcept {}
    void someone_left() const noexcept {}

    std::vector<std::shared_ptr<const T>> last_;
    std::size_t sent_ = 0;
    bool closed_ = false;
};

// Used by one task at a time. The broadcast outlives it.
template <class T>
class [[nodiscard]] broadcast<T>::receiver {
    template <class Wait>
    class receiving : public Wait {
    public:
        template <class... Limits>
        receiving(receiver &me, Limits &&...limits)
            : Wait(me.of_, me.next_, std::forward<Limits>(limits)...), me_(me) {}
        [[nodiscard]] std::shared_ptr<const T> await_resume() {
            static_cast<void>(Wait::await_resume());
            return me_.try_receive();
        }

    private:
        receiver &me_;
    };

public:
    // Gets what is sent from now on.
    explicit receiver(broadcast &of) noexcept : of_(of) {
        spin_lock held(of.guard_);
        next_ = of.sent_;
    }

    // co_await r.receive(): a value, which all receivers share; null when the broadcast is closed and this one has got
    // all, or a limit was reached. O(1).
    [[nodiscard]] auto receive() noexcept { return receiving<detail::wait_for_ever<broadcast>>(*this); }
    [[nodiscard]] auto receive(std::stop_token token) { return limited({std::nullopt, std::move(token)}); }
    template <class Rep, class Period>
    [[nodiscard]] auto receive_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return receive_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto receive_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited({deadline, std::move(token)});
    }
    // Null when there is none.
    [[nodiscard]] std::shared_ptr<const T> try_receive() noexcept {
        spin_lock held(of_.guard_);
        std::size_t behind = of_.sent_ - next_, there = of_.last_.size();
        if (behind == 0)
            return nullptr;
        if (behind > there) { // coro.K1
            missed_ += behind - there;
            next_ = of_.sent_ - there;
        }
        return of_.last_[next_++ % there];
    }
    // How many values it has missed so far.
    [[nodiscard]] std::size_t missed() const noexcept { return missed_; }

private:
    auto limited(wait_limits limits) {
        return receiving<detail::wait_within_limits<broadcast>>(*this, std::move(limits));
    }

    broadcast &of_;
    std::size_t next_ = 0;
    std::size_t missed_ = 0;
};

} // namespace holdfast::coro
