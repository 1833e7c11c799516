// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier: so many tasks wait for each other, again and again.
//
//      come_: 0 --arrive--> 1 --arrive--> ... count - 1 --arrive--> 0, the next round: all who wait go on
//
// coro.B1  A wait ends, unless it is given up, after all of its round have come.
// coro.B2  The last one of a round lets all others go on, and does not wait. Nobody waits for a round that is over.
// coro.B3  An arrival counts, whatever becomes of the wait behind it: a task that gives up, or is destroyed, has come
//     all the same.
// coro.B4  One that drops out comes for this round, and the next ones are of fewer.
// Model: verify/coro/barrier.pml. Test: tests/coro/primitives_test.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include "holdfast/coro/detail/waited_on.hpp"

namespace holdfast::coro {

class [[nodiscard]] barrier : public detail::waited_on<barrier> {
public:
    // Requires count > 0. May be destroyed when all who have waited have gone on.
    explicit barrier(std::size_t count) noexcept : count_(count) {}

    // co_await b.arrive_and_wait(). The last one schedules all others, O(n).
    [[nodiscard]] auto arrive_and_wait() noexcept { return detail::wait_for_ever<barrier>(*this); }
    // With a limit: false when that was reached before all had come. The caller has come even so (coro.B3), and must
    // not come again for this round.
    [[nodiscard]] auto arrive_and_wait(std::stop_token token) {
        return detail::wait_within_limits<barrier>(*this, 0, {std::nullopt, std::move(token)});
    }
    [[nodiscard]] auto arrive_and_wait_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return detail::wait_within_limits<barrier>(*this, 0, {deadline, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto arrive_and_wait_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return arrive_and_wait_until(deadline_after(time), std::move(token));
    }
    // From any thread: comes, and waits for nobody. O(1), the last one O(n).
    void arrive() noexcept {
        waiter nobody;
        static_cast<void>(take_at_once(nobody));
    }

    // The same, for the last time: the rounds after this one are of one task fewer. Once nobody is left, nobody comes.
    void arrive_and_drop() noexcept {
        waiter nobody;
        static_cast<void>(come(nobody, 1)); // coro.B4
    }

    // The awaiters' side (wait_awaiters.hpp): comes; true when it was the last. `one` keeps the round for which it
    // came, which may be over when it is about to be linked.
    [[nodiscard]] bool take_at_once(waiter &one) noexcept { return come(one, 0); }

private:
    friend class detail::waited_on<barrier>;
    static constexpr primitive_kind observed_as = primitive_kind::barrier;

    bool come(waiter &one, std::size_t drops) noexcept {
        wait_list others;
        {
            spin_lock held(guard_);
            one.wanted = round_;
            dropped_ += drops;
            if (++come_ < count_)
                return false;
            detail::require(come_ == count_, "a task comes to a barrier from which all have dropped out");
            count_ -= std::exchange(dropped_, 0);
            come_ = 0;
            round_++;
            waiters_.choose_all(others);
        }
        schedule_all(others);
        return true;
    }
    bool take(const waiter *one) const noexcept { return one->wanted != round_; }
    void give_back(const waiter &) const noexcept {}
    void someone_left() const noexcept {}

    std::size_t count_;
    std::size_t come_ = 0;
    std::size_t dropped_ = 0; // in this round
    std::size_t round_ = 0;
};

} // namespace holdfast::coro
