// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/task.hpp"

// On a pool of one worker: after so many turns everybody else has come to where they wait.
inline holdfast::coro::task<> let_others_run() {
    for (int i = 0; i < 8; i++)
        co_await holdfast::coro::yield();
}
