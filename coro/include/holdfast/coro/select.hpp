// SPDX-License-Identifier: MIT OR Apache-2.0
// Receiving from several channels: one value, of whichever has one first.
//
//     auto got = co_await select(requests, ticks);          // a std::optional of a std::variant, in this order
//     if (!got)                                             // all are closed, and empty
//         co_return;
//     if (got->index() == 0)
//         handle(std::get<0>(*got));
//
// The task waits in the lists of all of them at once, and takes part in each as any receiver (coro.N4): no value is
// taken that it does not get, and none lies in one of them while it waits.
// Model: verify/coro/select.pml. Test: tests/coro/channels_test.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "holdfast/coro/channel.hpp"
#include "holdfast/coro/task.hpp"
#include "holdfast/coro/unbounded_channel.hpp"

namespace holdfast::coro {

namespace detail {

// What of a channel select() uses, and what its value is.
struct select_access {
    template <class T, class Room>
    static channel<T, Room> &of(channel<T, Room> &one) noexcept {
        return one;
    }
    template <class T>
    static auto &of(unbounded_channel<T> &one) noexcept {
        return one.of_;
    }
    template <class T>
    static T value_of(T &&from) {
        return std::move(from);
    }
    template <class T>
    static T value_of(std::unique_ptr<link<T>> &&from) {
        return std::move(from->value);
    }
};

template <class Channel>
using selected_from = std::remove_reference_t<decltype(select_access::of(std::declval<Channel &>()))>;

enum class selected { one, look_again, over };

// One wait at all of `Channel`, which are channel<T, Room>. A channel that is closed meanwhile ends it, too.
template <class... Channel>
class [[nodiscard]] select_awaiter : private limited_waiter {
    using all = std::index_sequence_for<Channel...>;

public:
    select_awaiter(wait_limits limits, Channel &...of)
        : limited_waiter(std::move(limits), withdraw), places_(seat<Channel>{of, selection_}...) {}
    ~select_awaiter() {
        if (suspended_)
            leave();
        leave_home();
    }
    [[nodiscard]] bool await_ready() {
        return each([](auto &one) { return one.receives_at_once(); }) || all_are_over() || limits_passed();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        prepare(self);
        std::apply([self](auto &...one) { (one.prepare(self), ...); }, places_);
        arm();
        suspended_ = true;
        std::get<0>(places_).note_that_it_waits();
        if (!advance(wait_state::arming, wait_state::waiting))
            return false;
        if (each([](auto &one) { return one.receives_or_links(); }) || all_are_over())
            return false;
        return selection_.wait();
    }
    [[nodiscard]] selected await_resume() {
        bool was_suspended = std::exchange(suspended_, false);
        if (was_suspended) {
            leave();
            if (noting(watching))
                note_waits_no_more(handle.address());
        }
        auto got_it = [&](auto &one) {
            if (one.done && was_suspended)
                one.note_that_it_waited();
            return one.done;
        };
        if (each(got_it))
            return selected::one;
        if (was_suspended && (home_has_ended() || each([](auto &one) { return one.home_has_ended(); }))) [[unlikely]]
            throw_executor_stopped();
        return limits_passed() || all_are_over() ? selected::over : selected::look_again;
    }

    // The value, after selected::one.
    template <class Result>
    [[nodiscard]] Result take() {
        return take_from<Result>(all());
    }

private:
    template <class Of>
    struct seat {
        Of &of;
        selection &decides;
    };
    // Where it waits at one of them.
    template <class Of>
    class place : private Of::party {
        using party = typename Of::party;

    public:
        explicit place(seat<Of> mine) : party(mine.of, mine.of.receivers_, {}) { this->of_several = &mine.decides; }

        using party::done;
        using party::home_has_ended;
        using party::prepare;
        using party::value;

        [[nodiscard]] bool receives_at_once() {
            value = this->of_.try_receive();
            return done = value.has_value();
        }
        // In await_suspend. True when it need not wait: it has got something, or another place has.
        [[nodiscard]] bool receives_or_links() {
            waiter *let_go = nullptr;
            {
                spin_lock held(this->of_.guard_);
                if (this->of_several->is_decided())
                    return true;
                if (this->of_.is_empty()) {
                    if (!this->of_.closed_)
                        static_cast<void>(this->of_.receivers_.link(*this));
                    return false;
                }
                if (this->of_several->decide() == selection::decision::late) // coro.N4
                    return true;
                value = this->of_.get(let_go);
                done = value.has_value();
            }
            if (let_go)
                schedule(*let_go);
            return true;
        }
        [[nodiscard]] bool is_over() {
            spin_lock held(this->of_.guard_);
            return this->of_.closed_ && this->of_.is_empty();
        }
        // Of several, the first stands for all (waits.hpp).
        void note_that_it_waits() const noexcept { this->note_begin(primitive_kind::channel, &this->of_); }
        void note_that_it_waited() const noexcept { this->note_end(primitive_kind::channel, &this->of_); }
        void leave() noexcept {
            {
                spin_lock held(this->of_.guard_);
                this->of_.receivers_.unlink(*this);
            }
            this->leave_home();
        }
    };

    // Whether `is` of one of the places, which are asked in order, until one says so.
    bool each(auto is) {
        return std::apply([&](auto &...one) { return (is(one) || ...); }, places_);
    }
    bool all_are_over() {
        return std::apply([](auto &...one) { return (one.is_over() && ...); }, places_);
    }
    // Nobody knows it any more, or touches its places (coro.W4).
    void leave() noexcept {
        disarm();
        std::apply([](auto &...one) { (one.leave(), ...); }, places_);
    }
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<select_awaiter &>(one);
        if (self.selection_.decide() == selection::decision::lets_it_go)
            schedule(one);
    }
    template <class Result, std::size_t... I>
    Result take_from(std::index_sequence<I...>) {
        Result result;
        auto take_one = [&]<std::size_t N>(std::integral_constant<std::size_t, N>, auto &one) {
            if (one.done)
                result.emplace(std::in_place_index<N>, select_access::value_of(std::move(*one.value)));
        };
        (take_one(std::integral_constant<std::size_t, I>(), std::get<I>(places_)), ...);
        return result;
    }

    selection selection_;
    std::tuple<place<Channel>...> places_;
    bool suspended_ = false;
};

template <class Result, class... Channel>
task<Result> select_of(wait_limits limits, Channel &...of) {
    for (;;) {
        select_awaiter<Channel...> wait(limits, of...);
        selected what = co_await wait;
        if (what == selected::one)
            co_return wait.template take<Result>();
        if (what == selected::over)
            co_return Result();
    }
}

template <class Channel>
struct received_from;
template <class T, class Room>
struct received_from<channel<T, Room>> {
    using type = T;
};
template <class T>
struct received_from<unbounded_channel<T>> {
    using type = T;
};

template <class... Channel>
using selection_of = std::optional<std::variant<typename received_from<Channel>::type...>>;

template <class... Channel>
[[nodiscard]] task<selection_of<Channel...>> select_within(wait_limits limits, Channel &...of) {
    static_assert(sizeof...(Channel) > 0, "select() is given the channels from which it receives");
    return select_of<selection_of<Channel...>>(std::move(limits), select_access::of(of)...);
}

} // namespace detail

// co_await select(a, b, ...): a value of the first channel that has one, in the order in which they are given where
// several have; index() says which. Nothing when all are closed and empty, or a limit was reached. They are channels
// and unbounded channels, which outlive it. Allocates a frame; O(channels).
template <class... Channel>
[[nodiscard]] auto select(Channel &...of) {
    return detail::select_within<Channel...>({}, of...);
}
template <class... Channel>
[[nodiscard]] auto select(std::stop_token token, Channel &...of) {
    return detail::select_within<Channel...>({std::nullopt, std::move(token)}, of...);
}
template <class... Channel>
[[nodiscard]] auto select_until(deadline_clock::time_point deadline, Channel &...of) {
    return detail::select_within<Channel...>({deadline, {}}, of...);
}
template <class... Channel>
[[nodiscard]] auto select_until(deadline_clock::time_point deadline, std::stop_token token, Channel &...of) {
    return detail::select_within<Channel...>({deadline, std::move(token)}, of...);
}
template <class Rep, class Period, class... Channel>
[[nodiscard]] auto select_for(std::chrono::duration<Rep, Period> time, Channel &...of) {
    return select_until(deadline_after(time), of...);
}
template <class Rep, class Period, class... Channel>
[[nodiscard]] auto select_for(std::chrono::duration<Rep, Period> time, std::stop_token token, Channel &...of) {
    return select_until(deadline_after(time), std::move(token), of...);
}

} // namespace holdfast::coro
