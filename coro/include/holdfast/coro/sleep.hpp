// SPDX-License-Identifier: MIT OR Apache-2.0
// Time that passes without a thread. Test: tests/coro/primitives_test.
#pragma once

#include "holdfast/coro/event.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

// co_await sleep_for(5ms): no less than that, on the caller's executor. False when the stop was requested before.
template <class Rep, class Period>
[[nodiscard]] task<bool> sleep_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
    event never;
    static_cast<void>(co_await never.wait_for(time, token));
    co_return !token.stop_requested();
}

} // namespace holdfast::coro
