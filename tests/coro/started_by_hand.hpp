// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that runs at once when it is called, on no executor, and that nobody awaits.
#pragma once

#include <coroutine>
#include <exception>

struct started_by_hand {
    struct promise_type {
        started_by_hand get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};
