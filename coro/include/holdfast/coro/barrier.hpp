// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier: so many tasks wait for each other, again and again.
//
// B1  Nobody goes on before all of its round have come. B2  The last one lets all others go on, and does not wait.
// Test: tests/coro/primitives_test.
#pragma once

#include <cstddef>
#include <utility>

#include "holdfast/coro/waited_on.hpp"

namespace holdfast::coro {

class [[nodiscard]] barrier : public detail::waited_on<barrier> {
public:
    // Requires count > 0.
    explicit barrier(std::size_t count) noexcept : count_(count) {}

    // co_await b.arrive_and_wait(). It can't be cancelled: the others count on it. The last one schedules all others,
    // O(n).
    [[nodiscard]] auto arrive_and_wait() noexcept { return arrival(*this); }

private:
    friend class detail::waited_on<barrier>;
    static constexpr primitive_kind observed_as = primitive_kind::barrier;

    class [[nodiscard]] arrival : private waiter {
    public:
        explicit arrival(barrier &of) noexcept : of_(of) {}
        ~arrival() {
            if (suspended_)
                of_.abandon(*this);
        }
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
            suspended_ = true;
            prepare(self);
            return of_.arrive(*this);
        }
        void await_resume() noexcept {
            if (std::exchange(suspended_, false))
                of_.resumed(*this);
        }

    private:
        barrier &of_;
        bool suspended_ = false;
    };

    // True when `one` waits.
    bool arrive(waiter &one) noexcept {
        wait_list round;
        {
            spin_lock held(guard_);
            if (++come_ < count_)
                return waiters_.link(one);
            come_ = 0;
            while (waiter *other = waiters_.choose())
                round.append(*other);
        }
        schedule_all(round);
        return false;
    }
    void give_back(const waiter &) noexcept {}
    void someone_left() noexcept {}

    std::size_t count_;
    std::size_t come_ = 0;
};

} // namespace holdfast::coro
