// SPDX-License-Identifier: MIT OR Apache-2.0
// A channel: values from any number of senders to any number of receivers, in order. Bounded; without room it is a
// rendezvous.
//
// coro.N1  A value that was sent is received once, unless the channel is destroyed with it, or, when an executor ends,
//     the receiver to whom it was handed.
// coro.N2  Receivers wait only while nothing is there, senders only while there is no room; each first come, first
//     served.
// coro.N3  After close() nothing more is sent; what is there is still received; then receivers get nothing.
// coro.N4  A task that receives from several channels (select.hpp) gets one value: the channel that decides its
//     selection may give it one, and is the one to let it go on; the others pass it by.
// Whom a send or a receive lets go on is scheduled, and the caller goes on: neither has a lock for which others would
// wait, so an exchange would cost without a gain.
// Models: verify/coro/channel.pml, select.pml. Tests: tests/coro/primitives_test, tests/coro/channels_test,
// tests/coro/ended_executor_test.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/coro/detail/waited_on.hpp"

namespace holdfast::coro {

namespace detail {

// Room for so many values, in order. Guarded by its channel.
template <class T>
class ring {
public:
    explicit ring(std::size_t capacity) : places_(capacity) {}
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return places_.size(); }
    [[nodiscard]] bool full() const noexcept { return count_ == places_.size(); }
    // Requires that it is not full, or not empty.
    void put(T &&value) noexcept { places_[(first_ + count_++) % places_.size()].emplace(std::move(value)); }
    [[nodiscard]] std::optional<T> take() noexcept {
        std::optional<T> value = std::exchange(places_[first_], std::nullopt);
        first_ = (first_ + 1) % places_.size();
        count_--;
        return value;
    }

private:
    std::vector<std::optional<T>> places_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

// What the places share at which a task waits that receives from several channels (coro.N4).
//
//      ARMING --all places are linked--> WAITING --decide()--> DECIDED --> resumed, by the task that decided
//        \------------decide()------------------------------> DECIDED     it never suspends
class selection {
public:
    enum class decision : std::uint8_t { late, before_it_waits, lets_it_go };

    // Acquires and releases: what the one before has put into its place.
    [[nodiscard]] decision decide() noexcept {
        switch (word_.exchange(decided, std::memory_order_acq_rel)) {
        case arming: return decision::before_it_waits;
        case waiting: return decision::lets_it_go;
        default: return decision::late;
        }
    }
    // False when it was decided before.
    [[nodiscard]] bool wait() noexcept {
        std::uint8_t expected = arming;
        return word_.compare_exchange_strong(expected, waiting, std::memory_order_acq_rel);
    }
    [[nodiscard]] bool is_decided() const noexcept { return word_.load(std::memory_order_acquire) == decided; }

private:
    enum : std::uint8_t { arming, waiting, decided };
    std::atomic<std::uint8_t> word_ = arming;
};

template <class... Channel>
class select_awaiter;

} // namespace detail

// `Room` is where values lie for which nobody waits.
template <class T, class Room = detail::ring<T>>
class [[nodiscard]] channel {
    static_assert(std::is_object_v<T>, "a channel's values are objects: send a pointer instead of a reference");
    static_assert(std::is_nothrow_move_constructible_v<T>, "a channel's values must move without exceptions: send a "
                                                           "std::unique_ptr to what can't");

public:
    // Allocates room for `capacity` values; 0: a sender waits until a receiver has come.
    explicit channel(std::size_t capacity)
        requires std::constructible_from<Room, std::size_t>
        : room_(capacity) {}
    channel()
        requires std::default_initializable<Room>
    = default;
    channel(const channel &) = delete;
    channel &operator=(const channel &) = delete;

    class send_awaiter;
    class receive_awaiter;

    // co_await c.send(value): false when the channel is closed, or a limit was reached; the value is dropped then.
    // O(1).
    [[nodiscard]] send_awaiter send(T value, std::stop_token token = {}) {
        return send_awaiter(*this, std::move(value), {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] send_awaiter send_for(T value, std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return send_until(std::move(value), deadline_after(time), std::move(token));
    }
    [[nodiscard]] send_awaiter send_until(T value, deadline_clock::time_point deadline, std::stop_token token = {}) {
        return send_awaiter(*this, std::move(value), {deadline, std::move(token)});
    }
    // co_await c.receive(): nothing when the channel is closed and empty, or a limit was reached. O(1).
    [[nodiscard]] receive_awaiter receive(std::stop_token token = {}) {
        return receive_awaiter(*this, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] receive_awaiter receive_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return receive_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] receive_awaiter receive_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return receive_awaiter(*this, {deadline, std::move(token)});
    }
    // From any thread. `value` is moved from only on success.
    [[nodiscard]] bool try_send(T &value) noexcept {
        waiter *let_go = nullptr;
        bool sent = false;
        {
            spin_lock held(guard_);
            sent = put(value, let_go);
        }
        if (let_go)
            schedule(*let_go);
        return sent;
    }
    [[nodiscard]] std::optional<T> try_receive() noexcept {
        waiter *let_go = nullptr;
        std::optional<T> value;
        {
            spin_lock held(guard_);
            value = get(let_go);
        }
        if (let_go)
            schedule(*let_go);
        return value;
    }

    // How many values lie there for which nobody waits; for how many there is room. It may be another number by now.
    [[nodiscard]] std::size_t size() const noexcept {
        spin_lock held(guard_);
        return room_.size();
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return room_.capacity(); }
    // Whether it is: what a send or a receive with a limit that got nothing may want to know.
    [[nodiscard]] bool closed() const noexcept {
        spin_lock held(guard_);
        return closed_;
    }
    // From any thread; all who wait go on. O(waiters).
    void close() noexcept {
        wait_list chosen;
        {
            spin_lock held(guard_);
            closed_ = true;
            senders_.choose_all(chosen);
            waiter *let_go = nullptr;
            while (choose_receiver(let_go))
                if (let_go)
                    chosen.append(*let_go);
        }
        schedule_all(chosen);
    }

private:
    template <class...>
    friend class detail::select_awaiter;

    // A value, and whether it has been handed over. `value` is the sender's own, or the receiver's place for it.
    class party : public limited_waiter {
    public:
        party(channel &of, wait_list &list, wait_limits limits)
            : limited_waiter(std::move(limits), withdraw), of_(of), list_(list) {}
        ~party() {
            if (!suspended_)
                return;
            disarm();
            leave_list();
            this->leave_home();
        }

        std::optional<T> value;
        bool done = false;
        detail::selection *of_several = nullptr; // it is one of the places of a select

    protected:
        // await_suspend of both. Attempt: bool(waiter *&), under the guard, whether it has sent or received.
        template <class Attempt>
        bool suspend_unless(Attempt attempt, std::coroutine_handle<> self) {
            this->prepare(self);
            this->arm();
            suspended_ = true;
            this->note_begin(primitive_kind::channel, &of_);
            waiter *let_go = nullptr;
            {
                spin_lock held(of_.guard_);
                if (!attempt(let_go) && !of_.closed_ && list_.link(*this))
                    return true;
            }
            if (let_go)
                schedule(*let_go);
            return false;
        }
        void after_wait() {
            if (!std::exchange(suspended_, false))
                return;
            disarm();
            if (this->home_has_ended()) [[unlikely]] {
                leave_list();
                detail::throw_executor_stopped();
            }
            this->note_end(primitive_kind::channel, &of_);
        }
        channel &of_;

    private:
        void leave_list() noexcept {
            spin_lock held(of_.guard_);
            list_.unlink(*this);
        }
        static void withdraw(limited_waiter &one) noexcept {
            auto &self = static_cast<party &>(one);
            {
                spin_lock held(self.of_.guard_);
                self.list_.unlink(one);
            }
            schedule(one);
        }
        wait_list &list_;
        bool suspended_ = false;
    };

    // Under the guard. A sender that has given up may still be in the list.
    bool is_empty() const noexcept { return room_.size() == 0 && senders_.empty(); }
    // Under the guard. The receiver that gets what comes; null: nobody waits. `let_go`, if that is not null, is to be
    // scheduled. (A selection may be decided before its task waits.)
    party *choose_receiver(waiter *&let_go) noexcept {
        using decision = detail::selection::decision;
        while (waiter *one = receivers_.first()) {
            receivers_.unlink(*one);
            auto *receiver = static_cast<party *>(one);
            decision decided = receiver->of_several ? receiver->of_several->decide() : decision::lets_it_go; // coro.N4
            if (decided == decision::late || (decided == decision::lets_it_go && !one->choose()))
                continue;
            let_go = decided == decision::lets_it_go ? one : nullptr;
            return receiver;
        }
        return nullptr;
    }
    // Under the guard. True when `value` was taken; `let_go` is who goes on by that.
    bool put(T &value, waiter *&let_go) noexcept {
        if (closed_)
            return false;
        if (party *receiver = choose_receiver(let_go)) {
            receiver->value.emplace(std::move(value));
            receiver->done = true;
            return true;
        }
        if (room_.full())
            return false;
        room_.put(std::move(value));
        return true;
    }
    std::optional<T> get(waiter *&let_go) noexcept {
        std::optional<T> value;
        if (room_.size() > 0)
            value = room_.take();
        if (waiter *one = senders_.choose()) {
            auto *sender = static_cast<party *>(one);
            sender->done = true;
            let_go = one;
            if (!value)
                return std::exchange(sender->value, std::nullopt); // a rendezvous
            room_.put(*std::exchange(sender->value, std::nullopt));
        }
        return value;
    }

    mutable spin_guard guard_;
    Room room_;
    bool closed_ = false;
    wait_list senders_;
    wait_list receivers_;
};

template <class T, class Room>
class [[nodiscard]] channel<T, Room>::send_awaiter : private channel<T, Room>::party {
public:
    send_awaiter(channel &of, T sent, wait_limits limits) : party(of, of.senders_, std::move(limits)) {
        this->value.emplace(std::move(sent));
    }
    [[nodiscard]] bool await_ready() {
        this->done = false;
        if (!this->value)
            return true; // awaited again (coro.W5), and there is nothing left to send
        this->done = this->of_.try_send(*this->value);
        return this->done || this->limits_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        auto attempt = [this](waiter *&let_go) { return this->done = this->of_.put(*this->value, let_go); };
        return this->suspend_unless(attempt, self);
    }
    [[nodiscard]] bool await_resume() {
        this->after_wait();
        if (this->done)
            this->value.reset();
        return this->done;
    }
};

template <class T, class Room>
class [[nodiscard]] channel<T, Room>::receive_awaiter : private channel<T, Room>::party {
public:
    receive_awaiter(channel &of, wait_limits limits) : party(of, of.receivers_, std::move(limits)) {}
    [[nodiscard]] bool await_ready() {
        this->value = this->of_.try_receive();
        return this->value || this->limits_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        auto attempt = [this](waiter *&let_go) {
            this->value = this->of_.get(let_go);
            return this->value.has_value();
        };
        return this->suspend_unless(attempt, self);
    }
    [[nodiscard]] std::optional<T> await_resume() {
        this->after_wait();
        return std::move(this->value);
    }
};

} // namespace holdfast::coro
