// SPDX-License-Identifier: MIT OR Apache-2.0
// when_all of functions of a stop_token, whose first failure stops the others. (Of tasks: primitives_test.) Breaks that
// it sees: docs/coroutines-checks.md.
#include "holdfast/coro/when_all.hpp"

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/sleep.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

constexpr std::chrono::hours far_away{1};

task<> sleeps_until_stopped(std::stop_token token, bool &stopped) {
    bool passed = co_await sleep_for(far_away, std::move(token));
    stopped = !passed;
    throw std::runtime_error("since it was stopped");
}
task<int> fails_soon() {
    co_await yield();
    throw std::runtime_error("the first");
}

template <class All>
task<std::string> what_comes_out(All make) {
    try {
        co_await make();
    } catch (const std::runtime_error &one) {
        co_return one.what();
    }
    co_return "nothing";
}

TEST(CoroWhenAll, GivesAllResults) {
    pool workers(2);
    auto begin = [&]() -> task<> {
        auto number = [](std::stop_token) -> task<int> { co_return 1; };
        auto word = [](std::stop_token) -> task<std::string> { co_return "two"; };
        auto nothing = [](std::stop_token) -> task<> { co_return; };
        auto [one, two, three] = co_await when_all(number, word, nothing);
        static_cast<void>(three);
        EXPECT_EQ(one, 1);
        EXPECT_EQ(two, "two");
        std::vector<std::function<task<int>(std::stop_token)>> many;
        for (int i = 0; i < 5; i++)
            many.emplace_back([i](std::stop_token) -> task<int> {
                int kept = i;
                co_await yield();
                co_return kept;
            });
        std::vector<int> got = co_await when_all(many); // a copy
        EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
        std::vector<int> again = co_await when_all(std::move(many));
        EXPECT_EQ(again, got);
        std::vector<decltype(nothing)> none;
        co_await when_all(none);
    };
    sync_wait(workers, begin());
}

TEST(CoroWhenAll, TheFirstFailureStopsTheOthersAndComesOut) {
    pool workers(2);
    bool stopped[3] = {};
    auto some = [&]() -> task<> {
        auto sleeps = [&](std::stop_token token) { return sleeps_until_stopped(std::move(token), stopped[0]); };
        auto fails = [](std::stop_token) { return fails_soon(); };
        co_await when_all(sleeps, fails);
    };
    EXPECT_EQ(sync_wait(workers, what_comes_out(some)), "the first");
    EXPECT_TRUE(stopped[0]);
    auto many = [&]() -> task<> {
        std::vector<std::function<task<>(std::stop_token)>> all;
        for (bool &one : stopped)
            all.emplace_back([&one](std::stop_token token) { return sleeps_until_stopped(std::move(token), one); });
        all.emplace_back([](std::stop_token) -> task<> { static_cast<void>(co_await fails_soon()); });
        stopped[0] = false;
        co_await when_all(std::move(all));
    };
    EXPECT_EQ(sync_wait(workers, what_comes_out(many)), "the first");
    for (bool one : stopped)
        EXPECT_TRUE(one);
}

} // namespace
