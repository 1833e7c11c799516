// SPDX-License-Identifier: MIT OR Apache-2.0
// Scopes: who joins goes on when all frames are gone, what failed comes out, and what becomes of both at an executor's
// end (coro.J1 to J4). Breaks that it sees: docs/coroutines-checks.md.
#include "holdfast/coro/async_scope.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "holdfast/coro/event.hpp"
#include "holdfast/coro/latch.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/sleep.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

constexpr std::chrono::hours far_away{1};

// Counts the frames that hold one.
struct in_a_frame {
    explicit in_a_frame(std::atomic<int> &count) : count_(&count) { count++; }
    in_a_frame(in_a_frame &&other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    ~in_a_frame() {
        if (count_) {
            std::this_thread::yield(); // others may be quick to go on
            (*count_)--;
        }
    }

private:
    std::atomic<int> *count_;
};

task<> yields(int times, in_a_frame held) {
    static_cast<void>(held);
    for (int i = 0; i < times; i++)
        co_await yield();
}

task<std::string> thrown_by_join(async_scope &scope) {
    try {
        co_await scope.join();
    } catch (const std::runtime_error &one) {
        co_return one.what();
    }
    co_return "";
}

// coro.J1, J3: the scope is gone as soon as it is joined.
TEST(CoroScope, IsJoinedWhenAllFramesAreGone) {
    pool workers(2);
    std::atomic<int> frames = 0;
    auto rounds = [&]() -> task<> {
        for (int round = 0; round < 300; round++) {
            async_scope scope(workers);
            for (int i = 0; i < 1 + round % 4; i++)
                scope.spawn(yields(i, in_a_frame(frames)));
            co_await scope.join();
            int left = frames;
            EXPECT_EQ(left, 0) << "in round " << round;
        }
    };
    sync_wait(workers, rounds());
}

TEST(CoroScope, WaitsForWhatItsTasksSpawn) {
    pool workers(2);
    std::atomic<int> ended = 0;
    auto tree = [&](auto &self, async_scope &scope, int depth) -> task<> {
        co_await yield();
        if (depth > 0) {
            scope.spawn(self(self, scope, depth - 1));
            scope.spawn(self(self, scope, depth - 1));
        }
        ended++;
    };
    auto begin = [&]() -> task<> {
        async_scope scope(workers);
        scope.spawn(tree(tree, scope, 9));
        co_await scope.join();
        EXPECT_EQ(ended, 1023);
        EXPECT_EQ(scope.size(), 0u);
        scope.spawn(tree(tree, scope, 0)); // again
        co_await scope.join();
    };
    sync_wait(workers, begin());
    EXPECT_EQ(ended, 1024);
}

TEST(CoroScope, NobodyWaitsForAnEmptyOne) {
    pool workers(1);
    async_scope scope(workers);
    sync_wait(workers, [](async_scope &of) -> task<> { co_await of.join(); }(scope));
}

task<> sleeps_until_stopped(std::stop_token token, std::atomic<int> &stopped) {
    bool passed = co_await sleep_for(far_away, std::move(token));
    if (!passed)
        stopped++;
}
task<> fails(const char *what, event *after = nullptr) {
    if (after)
        co_await after->wait();
    throw std::runtime_error(what);
}

TEST(CoroScope, GivesTheFirstExceptionAndStopsTheOthers) {
    pool workers(2);
    std::atomic<int> stopped = 0;
    auto begin = [&]() -> task<> {
        async_scope scope(workers);
        for (int i = 0; i < 5; i++)
            scope.spawn([&](std::stop_token token) { return sleeps_until_stopped(std::move(token), stopped); });
        scope.spawn(fails("the first"));
        EXPECT_EQ(co_await thrown_by_join(scope), "the first");
        EXPECT_EQ(stopped, 5);
        EXPECT_TRUE(scope.get_token().stop_requested());
        co_await scope.join(); // it was told once
    };
    sync_wait(workers, begin());
}

TEST(CoroScope, LetsTheOthersGoOnWhereThatIsWanted) {
    pool workers(2);
    event first_has_failed;
    auto begin = [&]() -> task<> {
        async_scope scope(workers, {}, on_failure::go_on);
        scope.spawn(fails("the first"));
        scope.spawn(fails("the second", &first_has_failed));
        while (scope.size() > 1)
            co_await yield();
        EXPECT_FALSE(scope.get_token().stop_requested());
        first_has_failed.set();
        EXPECT_EQ(co_await thrown_by_join(scope), "the first");
    };
    sync_wait(workers, begin());
}

TEST(CoroScope, StopsWhenItsParentDoes) {
    pool workers(2);
    std::stop_source parent;
    std::atomic<int> stopped = 0;
    async_scope scope(workers, parent.get_token());
    scope.spawn([&](std::stop_token token) { return sleeps_until_stopped(std::move(token), stopped); });
    parent.request_stop();
    sync_wait(workers, [](async_scope &of) -> task<> { co_await of.join(); }(scope));
    EXPECT_EQ(stopped, 1);
}

TEST(CoroScope, AThreadThatDestroysItStopsAndWaits) {
    pool workers(2);
    std::atomic<int> stopped = 0, frames = 0;
    {
        async_scope scope(workers);
        for (int i = 0; i < 3; i++)
            scope.spawn([&, held = std::make_shared<in_a_frame>(frames)](std::stop_token token) {
                return sleeps_until_stopped(std::move(token), stopped);
            });
    }
    EXPECT_EQ(stopped, 3);
    EXPECT_EQ(frames, 0);
}

// Joins on a pool that lives, of tasks on one that ends. True: the join said that some were lost.
task<bool> is_told_that_some_were_lost(async_scope &scope) {
    try {
        co_await scope.join();
    } catch (const executor_stopped &) {
        co_return true;
    }
    co_return false;
}

// coro.J4
TEST(CoroScope, SaysThatTasksWereLostWithTheirExecutor) {
    pool lives(1);
    std::optional<pool> ends(std::in_place, 2u);
    async_scope scope(*ends);
    event never;
    latch waiting(1);
    scope.spawn([&]() -> task<> {
        waiting.count_down();
        co_await never.wait();
    });
    sync_wait(lives, [](latch &of) -> task<> { co_await of.wait(); }(waiting));
    std::thread ending([&] { ends->shutdown(); });
    EXPECT_TRUE(sync_wait(lives, is_told_that_some_were_lost(scope)));
    ending.join();
    scope.spawn([]() -> task<> { co_return; }); // it never begins
    EXPECT_TRUE(sync_wait(lives, is_told_that_some_were_lost(scope)));
    EXPECT_FALSE(sync_wait(lives, is_told_that_some_were_lost(scope)));
}

// A pool destroys what was spawned last first: the tasks before the frame that has their scope.
TEST(CoroScope, EndsWithTheExecutorThatAllAreOn) {
    std::atomic<int> frames = 0;
    for (int round = 0; round < 50; round++) {
        event never;
        {
            pool ends(2);
            spawn(ends, [&]() -> task<> {
                co_await with_scope([&](async_scope &scope) -> task<> {
                    for (int i = 0; i < 4; i++)
                        scope.spawn(
                            [&, held = std::make_shared<in_a_frame>(frames)]() -> task<> { co_await never.wait(); });
                    co_await never.wait();
                });
            });
            if (round % 2 == 0)
                while (frames < 4)
                    std::this_thread::yield();
        }
        EXPECT_EQ(frames, 0);
    }
}

// The frame with the scope is destroyed with its pool, whose end waits for the tasks on the other.
TEST(CoroScope, TheEndOfItsPoolWaitsForTasksElsewhere) {
    pool lives(2);
    std::atomic<int> stopped = 0;
    event never;
    {
        pool ends(1);
        latch both(2);
        spawn(ends, [&]() -> task<> {
            async_scope scope(lives);
            for (int i = 0; i < 2; i++)
                scope.spawn([&](std::stop_token token) -> task<> {
                    both.count_down();
                    co_await sleeps_until_stopped(std::move(token), stopped);
                });
            co_await never.wait();
        });
        sync_wait(lives, [](latch &of) -> task<> { co_await of.wait(); }(both));
    }
    EXPECT_EQ(stopped, 2);
}

TEST(CoroScope, IsJoinedHoweverItsFunctionIsLeft) {
    pool workers(1); // one: nobody may block
    std::atomic<int> stopped = 0;
    auto begin = [&]() -> task<int> {
        std::string thrown;
        auto body = [&](async_scope &scope) -> task<int> {
            for (int i = 0; i < 3; i++)
                scope.spawn([&](std::stop_token token) { return sleeps_until_stopped(std::move(token), stopped); });
            co_await yield();
            throw std::runtime_error("left early");
        };
        try {
            static_cast<void>(co_await with_scope(body));
        } catch (const std::runtime_error &one) {
            thrown = one.what();
        }
        EXPECT_EQ(thrown, "left early");
        EXPECT_EQ(stopped, 3);
        auto seven = [](async_scope &scope) -> task<int> {
            scope.spawn([]() -> task<> { co_await yield(); });
            co_return 7;
        };
        int got = co_await with_scope(workers, seven);
        co_return got;
    };
    EXPECT_EQ(sync_wait(workers, begin()), 7);
}

// Scopes on a pool that ends at any time, whose joiners are on another.
TEST(CoroScope, PoolsEndAtAnyTime) {
    pool lives(2);
    std::atomic<int> frames = 0;
    int lost = 0, rounds = 0;
    for (auto until = deadline_clock::now() + 300ms; deadline_clock::now() < until || rounds < 20; rounds++) {
        std::optional<pool> ends(std::in_place, 2u);
        auto begin = [&]() -> task<bool> {
            async_scope scope(*ends);
            for (int i = 0; i < 8; i++)
                scope.spawn(yields(rounds % 50, in_a_frame(frames)));
            bool some = co_await is_told_that_some_were_lost(scope);
            int left = frames;
            EXPECT_EQ(left, 0);
            co_return some;
        };
        std::thread ending([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(rounds % 40));
            ends->shutdown();
        });
        lost += sync_wait(lives, begin()) ? 1 : 0;
        ending.join();
    }
    EXPECT_GT(rounds, lost / 2); // both are seen, most often
}

} // namespace
