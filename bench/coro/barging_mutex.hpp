// SPDX-License-Identifier: MIT OR Apache-2.0
// A yardstick: release, wake one, and let it try again against a task that comes. What boost.fiber, Go and Java do.
#pragma once

#include <atomic>

#include "holdfast/coro/detail/spin_guard.hpp"
#include "holdfast/coro/detail/waiter.hpp"

namespace holdfast::bench {

class barging_mutex {
public:
    bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }

    // while (!m.try_lock()) co_await m.changed();
    class awaiter : private coro::waiter {
    public:
        explicit awaiter(barging_mutex &of) noexcept : of_(of) {}
        bool await_ready() const noexcept { return false; }
        HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
            prepare(self);
            coro::spin_lock guarded(of_.guard_);
            of_.waiting_.store(true, std::memory_order_seq_cst); // before the look: unlock() stores, then looks here
            if (!of_.held_.load(std::memory_order_seq_cst)) {
                of_.waiting_.store(!of_.waiters_.empty(), std::memory_order_seq_cst);
                return false;
            }
            return of_.waiters_.link(*this);
        }
        void await_resume() const noexcept {}

    private:
        barging_mutex &of_;
    };
    awaiter changed() noexcept { return awaiter(*this); }

    void unlock() noexcept {
        held_.store(false, std::memory_order_seq_cst);
        if (!waiting_.load(std::memory_order_seq_cst))
            return;
        coro::waiter *woken = nullptr;
        {
            coro::spin_lock guarded(guard_);
            woken = waiters_.choose();
            waiting_.store(!waiters_.empty(), std::memory_order_seq_cst);
        }
        if (woken)
            coro::schedule(*woken);
    }

private:
    std::atomic<bool> held_ = false;
    std::atomic<bool> waiting_ = false;
    coro::spin_guard guard_;
    coro::wait_list waiters_;
};

} // namespace holdfast::bench
