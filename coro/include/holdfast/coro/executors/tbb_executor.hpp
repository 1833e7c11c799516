// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines in a oneTBB arena. Needs oneTBB (Debian: libtbb-dev), which no other header here includes.
//
//     tbb::task_arena arena(4);
//     tbb_executor on(arena); // must end before `arena`
//     sync_wait(on, work());
//
// Test: tests/coro/executors_test.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <utility>

#include "holdfast/coro/executors/posting_executor.hpp"

namespace holdfast::coro {

class tbb_executor final : public posting_executor {
public:
    explicit tbb_executor(tbb::task_arena &arena, posting_options options = {})
        : posting_executor([&arena](ticket one) { arena.enqueue(std::move(one)); }, options) {}
    ~tbb_executor() override { shutdown(); }
};

} // namespace holdfast::coro
