// SPDX-License-Identifier: MIT OR Apache-2.0
// co_await of a function that runs while a mutex is held: what with() gives, without limits and with them.
//
//      free: taken, run, given back here --------------------------------------------------------> done
//      else: waits --> chosen by an owner that combines: its thread runs the function -----------> done
//                 +--> chosen: the caller goes on as the owner, runs it and gives the mutex back -> done
//                 +--> limit reached ------------------------------------------------------------> refused
//
// A Mutex has what a primitive of wait_awaiters.hpp has, and
//   release_word()         gives it back if nobody waits
//   release_from(...)      gives it back in await_suspend; true when the caller stays suspended
//   unlock_resumed()       gives it back where the caller goes on at once
//   combines               whether an owner may run the function of a waiter, its `closure`
// Model: verify/coro/with.pml. Tests: tests/coro/combining_test, tests/coro/limited_section_test.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/detail/frame_check.hpp"
#include "holdfast/coro/detail/wait_awaiters.hpp"

namespace holdfast::coro {

// What with() takes: a function without arguments that does not return a reference. It can't suspend; so it returns
// nothing that is awaited, as a task is: the mutex would be free before that had begun. What suspends under the mutex
// takes scoped_lock().
template <class Function>
concept critical_section = std::invocable<Function &> && !std::is_reference_v<std::invoke_result_t<Function &>> &&
                           !detail::awaitable<std::invoke_result_t<Function &>>;

namespace detail {

// What the function returned, if it ran; whether it ran, where it returns nothing.
template <class Returned>
struct result_within_limits {
    using type = std::optional<Returned>;
};
template <>
struct result_within_limits<void> {
    using type = bool;
};

template <class Mutex, critical_section Section, class Waiter>
class [[nodiscard]] section_awaiter : public for_tasks, private Waiter {
    static constexpr bool limited = std::is_same_v<Waiter, limited_waiter>;
    using returned = std::invoke_result_t<Section &>;
    static constexpr bool returns = !std::is_void_v<returned>;

public:
    using result_type =
        typename std::conditional_t<limited, result_within_limits<returned>, std::type_identity<returned>>::type;

    template <class Given>
    section_awaiter(Mutex &of, Given &&section)
        requires(!limited)
        : of_(of), section_(std::forward<Given>(section)) {
        may_be_made_within_co_await<Given>();
    }
    template <class Given>
    section_awaiter(Mutex &of, Given &&section, wait_limits limits)
        requires(limited)
        : Waiter(std::move(limits), withdraw), of_(of), section_(std::forward<Given>(section)) {
        may_be_made_within_co_await<Given>();
    }
    ~section_awaiter() {
        if (!suspended_)
            return;
        disarm_limits();
        if (!done_)
            of_.abandon(*this);
        this->leave_home();
    }

    // Uncontended, all is done here. Done, but with somebody waiting: await_suspend hands over.
    [[nodiscard]] bool await_ready() noexcept(!limited) {
        if (!of_.take_at_once(*this)) {
            done_ = false; // coro.W5
            return limits_passed();
        }
        work();
        section_ends(&of_);
        released_ = of_.release_word();
        return released_ && !turn_is_over();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept(!limited) {
        if (done_)
            return released_ ? end_turn(self) : of_.release_from(self, frame_);
        this->prepare(self);
        if constexpr (limited)
            this->arm();
        suspended_ = true;
        if constexpr (Mutex::combines)
            this->closure = [](waiter &one) noexcept { static_cast<section_awaiter &>(one).work(); };
        of_.suspends(*this);
        if (entry outcome = of_.enter(*this); outcome != entry::got_it)
            return outcome == entry::waits;
        work();
        section_ends(&of_);
        return of_.release_from(self, frame_);
    }
    result_type await_resume() {
        bool has_mutex = false;
        if (std::exchange(suspended_, false)) {
            disarm_limits();
            if (this->home_has_ended()) [[unlikely]] {
                if (!done_)
                    of_.abandon(*this);
                throw_executor_stopped();
            }
            if (this->how != passage::combined)
                of_.resumed(*this);
            has_mutex = !this->was(wait_state::cancelled);
        }
        if (!done_ && has_mutex) { // was made the owner itself
            work();
            of_.unlock_resumed();
        }
        if (std::exception_ptr thrown = std::exchange(thrown_, nullptr))
            std::rethrow_exception(thrown);
        if constexpr (!returns)
            return result_type(done_);
        else if constexpr (limited)
            return std::exchange(result_, std::nullopt);
        else
            return std::move(*result_);
    }

private:
    struct nothing {};

    void work() noexcept {
        HF_CORO_TRY {
            if constexpr (returns)
                result_.emplace(std::invoke(section_));
            else
                std::invoke(section_);
        }
        HF_CORO_CATCH(...) {
            thrown_ = std::current_exception();
        }
        done_ = true;
    }

    bool limits_passed() const {
        if constexpr (limited)
            return Waiter::limits_passed();
        return false;
    }
    void disarm_limits() noexcept {
        if constexpr (limited)
            this->disarm();
    }
    static void withdraw(limited_waiter &one) noexcept {
        auto &self = static_cast<section_awaiter &>(one);
        self.of_.withdraw(self);
    }

    Mutex &of_;
    Section section_;
    std::optional<std::conditional_t<returns, returned, nothing>> result_;
    std::exception_ptr thrown_;
    union {
        deferred frame_; // written by defer()
    };
    bool suspended_ = false;
    bool done_ = false;
    bool released_ = false; // without anybody waiting
};

} // namespace detail

} // namespace holdfast::coro
