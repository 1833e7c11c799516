// SPDX-License-Identifier: MIT OR Apache-2.0
// A oneTBB arena.
#pragma once

#include <algorithm>
#include <oneapi/tbb/info.h>

#include "holdfast/coro/executors/tbb_executor.hpp"

class foreign_threads {
public:
    // One slot more than workers: the library keeps one for a thread that waits in the arena, which none does here. It
    // warns who asks for more threads than CPUs.
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : arena_(std::min(static_cast<int>(count) + 1, tbb::info::default_concurrency())), on_(arena_, options) {}
    auto &on() { return on_; }

private:
    tbb::task_arena arena_;
    holdfast::coro::tbb_executor on_;
};
