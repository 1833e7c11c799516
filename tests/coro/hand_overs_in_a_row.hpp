// SPDX-License-Identifier: MIT OR Apache-2.0
// Hand-overs of a mutex, so many that the stack would overflow if one ran inside another.
#pragma once

#include <gtest/gtest.h>

#include "coro/gathering.hpp"
#include "holdfast/coro/spawn.hpp"

namespace holdfast::coro {

// Each meets a waiter, because the section suspends.
template <class Mutex>
void hand_over_in_a_row(Mutex &guard, executor_base &on, int times) {
    long value = 0;
    gathering all;
    auto come = [&]() -> task<> {
        for (int i = 0; i < times; i++) {
            co_await guard.lock();
            value++;
            co_await yield();
            co_await guard.unlock();
        }
    };
    for (int i = 0; i < 3; i++)
        all.add(on, come());
    all.wait();
    EXPECT_EQ(value, 3L * times);
}

} // namespace holdfast::coro
