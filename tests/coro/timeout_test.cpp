// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that are stopped when a time has come (coro.D1, D2). Breaks that it sees: docs/coroutines-checks.md.
#include "holdfast/coro/timeout.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <string>

#include "holdfast/coro/event.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/sleep.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/when_all.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

constexpr std::chrono::hours far_away{1};

task<std::string> gives(std::string what, std::stop_token) {
    co_return what;
}
// Ends when it is told to, later still than that.
task<std::string> gives_when_stopped(std::stop_token token, bool &ended) {
    static_cast<void>(co_await sleep_for(far_away, std::move(token)));
    for (int i = 0; i < 10; i++)
        co_await yield();
    ended = true;
    co_return "late";
}

TEST(CoroTimeout, GivesTheResultOfATaskThatEndsBefore) {
    pool workers(1);
    auto begin = [&]() -> task<> {
        std::optional<std::string> got =
            co_await timeout([](std::stop_token token) { return gives("in time", std::move(token)); }, far_away);
        EXPECT_EQ(got, "in time");
        bool ended = co_await timeout([](std::stop_token) -> task<> { co_return; }, far_away);
        EXPECT_TRUE(ended);
    };
    sync_wait(workers, begin());
}

TEST(CoroTimeout, StopsTheTaskAndWaitsForIt) {
    pool workers(1);
    auto begin = [&]() -> task<> {
        bool ended = false;
        auto make = [&](std::stop_token token) { return gives_when_stopped(std::move(token), ended); };
        std::optional<std::string> got = co_await timeout(make, 1ms);
        EXPECT_FALSE(got);
        EXPECT_TRUE(ended);
        ended = false;
        got = co_await timeout_until(make, deadline_clock::now() - 1s); // it has passed before it begins
        EXPECT_FALSE(got);
        EXPECT_TRUE(ended);
        auto nothing = [&](std::stop_token token) -> task<> {
            static_cast<void>(co_await gives_when_stopped(std::move(token), ended));
        };
        bool in_time = co_await timeout(nothing, 1ms);
        EXPECT_FALSE(in_time);
    };
    sync_wait(workers, begin());
}

TEST(CoroTimeout, StopsWithItsCaller) {
    pool workers(1);
    std::stop_source caller;
    bool ended = false;
    auto begin = [&](int when) -> task<> {
        if (when == 0)
            caller.request_stop();
        auto make = [&](std::stop_token token) { return gives_when_stopped(std::move(token), ended); };
        std::optional<std::string> got = co_await timeout(make, far_away, caller.get_token());
        EXPECT_FALSE(got);
        EXPECT_TRUE(ended);
    };
    spawn(workers, [&]() -> task<> {
        co_await yield();
        caller.request_stop();
    });
    sync_wait(workers, begin(1));
    ended = false;
    sync_wait(workers, begin(0));
}

TEST(CoroTimeout, StopsThoseInside) {
    pool workers(1);
    bool ended = false;
    auto begin = [&]() -> task<> {
        auto innermost = [&](std::stop_token token) { return gives_when_stopped(std::move(token), ended); };
        auto inner = [&](std::stop_token token) -> task<bool> {
            std::optional<std::string> got = co_await timeout(innermost, far_away, std::move(token));
            co_return got.has_value();
        };
        std::optional<bool> got = co_await timeout(inner, 1ms);
        EXPECT_FALSE(got);
        EXPECT_TRUE(ended);
    };
    sync_wait(workers, begin());
}

TEST(CoroTimeout, AnExceptionComesOutBeforeAndAfterTheTime) {
    pool workers(1);
    auto begin = [&](std::chrono::milliseconds time, bool waits) -> task<> {
        auto make = [&](std::stop_token token) -> task<int> {
            if (waits)
                static_cast<void>(co_await sleep_for(far_away, std::move(token)));
            throw std::runtime_error("its own");
        };
        std::string thrown;
        try {
            static_cast<void>(co_await timeout(make, time));
        } catch (const std::runtime_error &one) {
            thrown = one.what();
        }
        EXPECT_EQ(thrown, "its own");
    };
    sync_wait(workers, begin(1h, false));
    sync_wait(workers, begin(1ms, true));
}

// The time of a task that is made and kept does not pass. On a machine that stands still meanwhile it does: then again.
TEST(CoroTimeout, BeginsWhereItIsAwaited) {
    pool workers(1);
    bool in_time = false;
    auto begin = [&]() -> task<> {
        auto make = [](std::stop_token) -> task<> { co_return; };
        for (int tries = 0; tries < 100 && !in_time; tries++) {
            auto kept = timeout(make, 20ms);
            static_cast<void>(co_await sleep_for(40ms));
            in_time = co_await std::move(kept);
        }
    };
    sync_wait(workers, begin());
    EXPECT_TRUE(in_time);
}

TEST(CoroTimeout, NeedsAnExecutor) {
    pool workers(1);
    bool refused = false;
    auto begin = [&]() -> task<> {
        try {
            static_cast<void>(co_await timeout([](std::stop_token) -> task<> { co_return; }, 1s));
        } catch (const no_executor &) {
            refused = true;
        }
    };
    task<> one = begin();
    std::atomic<std::size_t> left = 1;
    one.start(std::noop_coroutine(), left).resume();
    EXPECT_TRUE(refused);
}

// coro.D2: frames are gone as soon as the wait is over, while times pass.
TEST(CoroTimeout, TimesPassWhileTasksEnd) {
    pool workers(2);
    std::atomic<int> in_time = 0, late = 0;
    auto again = [&](int first) -> task<> {
        for (int i = 0; i < 300; i++) {
            auto make = [](std::stop_token token) { return sleep_for(100us, std::move(token)); };
            std::optional<bool> got = co_await timeout(make, std::chrono::microseconds(60 + (first + i) % 80));
            EXPECT_TRUE(got.value_or(true)) << "a result in time of a task that was stopped";
            (got ? in_time : late)++;
        }
    };
    std::vector<task<>> all;
    for (int i = 0; i < 8; i++)
        all.push_back(again(i * 10));
    sync_wait(workers, when_all(std::move(all)));
    EXPECT_EQ(in_time + late, 2400);
}

TEST(CoroTimeout, PoolsEndWhileTasksHaveTime) {
    for (int round = 0; round < 100; round++) {
        event never;
        pool workers(2);
        for (int i = 0; i < 4; i++)
            spawn(workers, [&]() -> task<> {
                auto make = [&](std::stop_token token) -> task<> {
                    static_cast<void>(co_await never.wait(std::move(token)));
                };
                co_await timeout(make, std::chrono::microseconds(round * 2));
            });
    }
}

} // namespace
