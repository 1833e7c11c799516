// SPDX-License-Identifier: MIT OR Apache-2.0
// Guards: what a coroutine has for as long as they live.
//
// A Mode says of a Mutex how it is given back: unlock(Mutex &), which is awaited, and give_back(Mutex &), by the
// guard's destructor.
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/executor.hpp"

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
    guard(Mutex &of, std::adopt_lock_t) noexcept : of_(&of) {}
    guard(guard &&other) noexcept : of_(other.release()) {}
    guard &operator=(guard &&other) noexcept {
        if (this != &other) {
            give_back();
            of_ = other.release();
        }
        return *this;
    }
    // Correct, but a destructor can't suspend: the next owner has to wait for a worker.
    ~guard() { give_back(); }

    // co_await held.unlock(). Requires owns_lock().
    [[nodiscard]] auto unlock() noexcept {
        require(owns_lock(), "a guard's lock is released that it does not have: it is empty, or was released before");
        return Mode::unlock(*release());
    }
    [[nodiscard]] bool owns_lock() const noexcept { return of_ != nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return owns_lock(); }
    [[nodiscard]] Mutex *mutex() const noexcept { return of_; }
    // The caller has it from now on, without a guard.
    [[nodiscard]] Mutex *release() noexcept { return std::exchange(of_, nullptr); }

private:
    void give_back() noexcept {
        if (Mutex *of = release()) {
            note_slow_release();
            Mode::give_back(*of);
        }
    }

    Mutex *of_ = nullptr;
};

// co_await of a wait (wait_awaiters.hpp): gives a guard, which is empty when a limit was reached first.
template <class Wait, class Guard>
class [[nodiscard]] guarded : private Wait {
public:
    using Wait::await_ready;
    using Wait::await_suspend;
    using Wait::Wait;
    [[nodiscard]] Guard await_resume() noexcept {
        if constexpr (std::is_void_v<decltype(Wait::await_resume())>)
            Wait::await_resume();
        else if (!Wait::await_resume())
            return {};
        return {this->of_, std::adopt_lock};
    }
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
