// SPDX-License-Identifier: MIT OR Apache-2.0
// Guards: what a coroutine has for as long as they live.
//
// A Mode says of a Mutex how it is given back: unlock(Mutex &), which is awaited, and give_back(Mutex &), by the
// guard's destructor. One that is made of a number knows how much of it the guard has (waiter::wanted).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/waiter.hpp"
#include "holdfast/coro/executor.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro::detail {

// In a debug build, once. Not by a pool's end, which destroys coroutines while none runs on its thread.
inline void note_slow_release() noexcept {
    static std::atomic<bool> said = false;
    if (HF_CORO_CHECKS && current_context() && std::uncaught_exceptions() == 0 &&
        !said.exchange(true, std::memory_order_relaxed))
        std::fputs("holdfast: a coroutine's lock was released by its guard's destructor, which can't hand its thread "
                   "over: 'co_await guard.unlock()' is faster\n",
                   stderr);
}

template <class Mutex, class Mode>
class [[nodiscard]] guard {
public:
    guard() = default;
    // Takes over what the caller has.
    guard(Mutex &of, std::adopt_lock_t, Mode mode = {}) noexcept : mode_(mode), of_(&of) {}
    guard(guard &&other) noexcept : mode_(other.mode_), of_(other.release()) {}
    guard &operator=(guard &&other) noexcept {
        if (this != &other) {
            give_back();
            mode_ = other.mode_;
            of_ = other.release();
        }
        return *this;
    }
    // Correct, but a destructor can't suspend: the next owner has to wait for a worker.
    ~guard() { give_back(); }

    // co_await held.unlock(). Requires owns_lock().
    [[nodiscard]] auto unlock() noexcept {
        require(owns_lock(), "a guard's lock is released that it does not have: it is empty, or was released before");
        return mode_.unlock(*release());
    }
    [[nodiscard]] bool owns_lock() const noexcept { return of_ != nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return owns_lock(); }
    [[nodiscard]] Mutex *mutex() const noexcept { return of_; }
    // The caller has it from now on, without a guard.
    [[nodiscard]] Mutex *release() noexcept { return std::exchange(of_, nullptr); }

protected:
    [[no_unique_address]] Mode mode_;

private:
    void give_back() noexcept {
        if (Mutex *of = release()) {
            note_slow_release();
            mode_.give_back(*of);
            note_turn(); // it can't suspend: the next co_await of a guard does
        }
    }

    Mutex *of_ = nullptr;
};

// co_await: ends a turn that was found to be over where nothing could be suspended.
class [[nodiscard]] late_end_of_turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> self) const noexcept { return end_turn(self); }
    void await_resume() const noexcept {}
};

// co_await of a wait (wait_awaiters.hpp): gives a guard, which is empty when a limit was reached first. A loop whose
// guards unlock by their destructors ends its turn here; only then, which is rare, a frame is allocated.
template <class Wait, class Guard>
class [[nodiscard]] guarded : private Wait {
public:
    using Wait::Wait;
    using Wait::operator(); // of for_tasks
    [[nodiscard]] bool await_ready() {
        late_ = turn_was_over();
        return !late_ && Wait::await_ready();
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) {
        if (!late_)
            return Wait::await_suspend(self);
        after_others_ = wait_after_others(*this);
        awaited_.emplace(std::move(after_others_).operator co_await());
        awaited_->await_suspend(self);
        return true;
    }
    [[nodiscard]] Guard await_resume() {
        if (late_)
            return awaited_->await_resume();
        return got_it(*this) ? taken(*this) : Guard();
    }

private:
    static Guard taken(guarded &self) noexcept {
        if constexpr (std::is_constructible_v<Guard, decltype(self.of_), std::adopt_lock_t, std::size_t>)
            return Guard(self.of_, std::adopt_lock, self.what());
        else
            return Guard(self.of_, std::adopt_lock);
    }
    static bool got_it(Wait &wait) {
        if constexpr (std::is_void_v<decltype(wait.await_resume())>) {
            wait.await_resume();
            return true;
        } else {
            return wait.await_resume();
        }
    }
    // What it got is in a guard at once: an executor may end before the coroutine that awaits this goes on.
    static task<Guard> wait_after_others(guarded &self) {
        co_await late_end_of_turn();
        Wait &wait = self;
        if constexpr (std::is_void_v<decltype(wait.await_resume())>) {
            co_await wait;
            co_return taken(self);
        } else {
            bool got = co_await wait;
            if (!got)
                co_return Guard();
            co_return taken(self);
        }
    }

    task<Guard> after_others_;
    std::optional<typename task<Guard>::awaiter> awaited_;
    bool late_ = false;
};

// What std::lock_guard and its like are on a coroutine mutex: they would call lock() and unlock() without awaiting
// them, and lock nothing.
template <auto>
inline constexpr bool may_be_guarded_so = false;
template <auto Policy>
struct no_std_guard {
    static_assert(may_be_guarded_so<Policy>, "a coroutine mutex is awaited: auto held = co_await mutex.scoped_lock();");
};

} // namespace holdfast::coro::detail
