// SPDX-License-Identifier: MIT OR Apache-2.0
// What was spawned on an asio_executor counts as work of Asio's while it sleeps or waits.
// Shown able to fail: without adopt() of asio_executor run() returns at once.
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/executors/asio_executor.hpp"

namespace {

using namespace holdfast::coro;

TEST(AsioWork, RunGoesOnWhileATaskSleeps) {
    asio::io_context context;
    asio_executor on(context.get_executor());
    bool over = false;
    auto sleeps = [&]() -> task<> {
        for (int i = 0; i < 2; i++) {
            bool slept = co_await sleep_for(std::chrono::milliseconds(10));
            over = slept && i == 1;
        }
    };
    spawn(on, sleeps);
    context.run(); // the only thread that runs it
    EXPECT_TRUE(over);
}

} // namespace
