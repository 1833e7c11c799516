// SPDX-License-Identifier: MIT OR Apache-2.0
// when_any whose results can't be moved without an exception: it comes out, and the others are still stopped.
// Shown able to fail: without the catch around the winner's move the other is never stopped and nothing comes out.
#include "holdfast/coro/when_all.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <stdexcept>

#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/sleep.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

// The move with this number throws, counted while nobody else moves any.
struct fragile {
    fragile() = default;
    fragile(fragile &&) {
        if (moves_until_throw > 0 && --moves_until_throw == 0)
            throw std::runtime_error("can't be moved");
    }
    fragile &operator=(fragile &&) = default;
    static inline int moves_until_throw = 0;
};

task<fragile> at_once() {
    co_return fragile();
}

// Ends when it is told to; would otherwise outlast every test's limit.
task<fragile> sleep_until_stopped(std::stop_token token, bool &stopped) {
    stopped = !co_await sleep_for(std::chrono::hours(1), token);
    throw std::runtime_error("only the first one's result counts");
}

// True when the first one's result came out; nothing came out of it: an exception did.
task<bool> comes_out(bool &stopped) {
    auto first = [](std::stop_token) { return at_once(); };
    auto other = [&](std::stop_token token) { return sleep_until_stopped(token, stopped); };
    try {
        first_of<fragile> won = co_await when_any(first, other);
        co_return won.index == 0;
    } catch (const std::runtime_error &thrown) {
        EXPECT_STREQ(thrown.what(), "can't be moved");
        co_return false;
    }
}

TEST(CoroWhenAny, GivesTheExceptionOfAMoveAndStopsTheOthers) {
    bool came_out = false;
    int throwing = 1;
    for (; throwing <= 32 && !came_out; throwing++) {
        pool workers(1);
        bool stopped = false;
        fragile::moves_until_throw = throwing;
        came_out = sync_wait(workers, comes_out(stopped));
        fragile::moves_until_throw = 0;
        EXPECT_TRUE(stopped) << "move " << throwing;
    }
    EXPECT_TRUE(came_out) << "moves without end";
    EXPECT_GT(throwing, 4) << "hardly any move was tried";
}

} // namespace
