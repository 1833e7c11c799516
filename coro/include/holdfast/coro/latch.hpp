// SPDX-License-Identifier: MIT OR Apache-2.0
// A latch: waits until so many things have happened. Test: tests/coro/primitives_test.
#pragma once

#include <cstddef>

#include "holdfast/coro/event.hpp"

namespace holdfast::coro {

class [[nodiscard]] latch {
public:
    explicit latch(std::size_t expected) noexcept : over_(expected == 0), missing_(expected) {}

    // From any thread. Requires that not more than expected are counted. A waiter may destroy the latch after its wait.
    void count_down(std::size_t by = 1) noexcept {
        std::size_t before = missing_.fetch_sub(by, std::memory_order_acq_rel);
        detail::require(by <= before, "a latch is counted down below 0: no more than it expects may happen");
        if (before == by)
            over_.set();
    }
    [[nodiscard]] bool try_wait() noexcept { return over_.try_wait(); }
    [[nodiscard]] auto wait() noexcept { return over_.wait(); }
    [[nodiscard]] auto wait(std::stop_token token) { return over_.wait(std::move(token)); }
    template <class Rep, class Period>
    [[nodiscard]] auto wait_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return over_.wait_for(time, std::move(token));
    }
    [[nodiscard]] auto wait_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return over_.wait_until(deadline, std::move(token));
    }

private:
    event over_; // the first: what statistics call the event is what they call the latch
    std::atomic<std::size_t> missing_;
};

} // namespace holdfast::coro
