// SPDX-License-Identifier: MIT OR Apache-2.0
// A task that several await (coro.H1, H2). Breaks that it sees: docs/coroutines-checks.md.
#include "holdfast/coro/shared_task.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "holdfast/coro/latch.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/when_all.hpp"

namespace {

using namespace holdfast::coro;

TEST(CoroSharedTask, RunsOnceForAll) {
    pool workers(2);
    for (int round = 0; round < 200; round++) {
        std::atomic<int> runs = 0;
        auto load = [&]() -> task<std::string> {
            runs++;
            for (int i = 0; i < round % 5; i++)
                co_await yield();
            co_return "loaded";
        };
        shared_task<std::string> shared(load());
        EXPECT_FALSE(shared.is_over());
        std::atomic<const std::string *> where = nullptr;
        auto use = [&](shared_task<std::string> mine) -> task<> {
            const std::string &got = co_await mine;
            EXPECT_EQ(got, "loaded");
            const std::string *before = where.exchange(&got);
            EXPECT_TRUE(!before || before == &got) << "a copy";
        };
        std::vector<task<>> all;
        for (int i = 0; i < 6; i++)
            all.push_back(use(shared));
        sync_wait(workers, when_all(std::move(all)));
        EXPECT_EQ(runs, 1);
        EXPECT_TRUE(shared.is_over());
        EXPECT_EQ(sync_wait(workers, shared), "loaded");
    }
}

TEST(CoroSharedTask, GivesItsExceptionToAll) {
    pool workers(1);
    std::atomic<int> runs = 0, told = 0;
    auto fail = [&]() -> task<> {
        runs++;
        co_await yield();
        throw std::runtime_error("its own");
    };
    shared_task<void> shared(fail());
    auto use = [&]() -> task<> {
        try {
            co_await shared;
        } catch (const std::runtime_error &) {
            told++;
        }
    };
    auto all = [&]() -> task<> { co_await when_all(use(), use(), use()); };
    sync_wait(workers, all());
    sync_wait(workers, use());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(told, 4);
}

// coro.H2
TEST(CoroSharedTask, TheOthersAreToldWhereItIsDestroyed) {
    pool lives(1);
    std::optional<pool> ends(std::in_place, 1u);
    event never;
    latch begun(1);
    auto waits = [&]() -> task<int> {
        begun.count_down();
        co_await never.wait();
        co_return 1;
    };
    shared_task<int> shared(waits());
    spawn(*ends, [&]() -> task<> { static_cast<void>(co_await shared); });
    sync_wait(lives, begun.wait());
    bool told = false;
    auto use = [&]() -> task<> {
        try {
            static_cast<void>(co_await shared);
        } catch (const executor_stopped &) {
            told = true;
        }
    };
    std::thread ending([&] { ends->shutdown(); });
    sync_wait(lives, use());
    ending.join();
    EXPECT_TRUE(told);
}

} // namespace
