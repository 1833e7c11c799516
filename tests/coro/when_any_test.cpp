// SPDX-License-Identifier: MIT OR Apache-2.0
// when_any whose results can't be moved without an exception: it comes out, and the others are still stopped. Races of
// several types, and of ranges.
// Shown able to fail: without the catch around the winner's move the other is never stopped and nothing comes out; the
// rest: docs/coroutines-checks.md.
#include "holdfast/coro/when_all.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <variant>

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

task<std::string> a_word_when_stopped(std::stop_token token, bool &stopped) {
    bool passed = co_await sleep_for(std::chrono::hours(1), std::move(token));
    stopped = !passed;
    co_return "late";
}

TEST(CoroWhenAny, GivesAVariantOfSeveralTypes) {
    pool workers(1);
    auto begin = [&]() -> task<> {
        bool stopped = false;
        auto word = [&](std::stop_token token) { return a_word_when_stopped(std::move(token), stopped); };
        auto number = [](std::stop_token) -> task<int> { co_return 7; };
        auto nothing = [&](std::stop_token token) -> task<> {
            static_cast<void>(co_await sleep_for(std::chrono::hours(1), std::move(token)));
        };
        auto won = co_await when_any(word, number, nothing);
        EXPECT_EQ(won.index() == 1 ? std::get<1>(won) : 0, 7);
        EXPECT_TRUE(stopped);
        auto twice = [](std::stop_token) -> task<int> { co_return 8; };
        auto same = co_await when_any(nothing, twice, number); // the index tells, not the type
        EXPECT_EQ(same.index(), 1u);
        std::string thrown;
        auto fails = [](std::stop_token) -> task<int> {
            throw std::runtime_error("its own");
            co_return 0;
        };
        stopped = false;
        try {
            static_cast<void>(co_await when_any(word, fails));
        } catch (const std::runtime_error &one) {
            thrown = one.what();
        }
        EXPECT_EQ(thrown, "its own");
        EXPECT_TRUE(stopped);
    };
    sync_wait(workers, begin());
}

TEST(CoroWhenAny, GivesTheFirstOfARange) {
    pool workers(1);
    auto begin = [&]() -> task<> {
        std::array<bool, 4> stopped{};
        std::vector<std::function<task<std::string>(std::stop_token)>> all;
        for (bool &one : stopped)
            all.emplace_back([&one](std::stop_token token) { return a_word_when_stopped(std::move(token), one); });
        all[2] = [](std::stop_token) -> task<std::string> { co_return "soon"; };
        first_of<std::string> won = co_await when_any(all); // a copy
        EXPECT_EQ(won.index, 2u);
        EXPECT_EQ(won.value, "soon");
        EXPECT_TRUE(all[0] && all[2]) << "they were moved from";
        EXPECT_EQ(stopped, (std::array<bool, 4>{true, true, false, true}));
        auto one = [](std::stop_token) -> task<> { co_return; };
        std::array<decltype(one), 1> alone{one};
        first_of<void> only = co_await when_any(alone);
        EXPECT_EQ(only.index, 0u);
        all.clear();
        bool refused = false;
        try {
            static_cast<void>(co_await when_any(std::move(all)));
        } catch (const std::invalid_argument &) {
            refused = true;
        }
        EXPECT_TRUE(refused);
    };
    sync_wait(workers, begin());
}

} // namespace
