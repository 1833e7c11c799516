// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that drop out of a barrier (coro.B4), and a writer that goes on as a reader (coro.R3). The rest of both:
// primitives_test. Breaks that it sees: docs/coroutines-checks.md.
#include "holdfast/coro/barrier.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <vector>

#include "coro/let_others_run.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/shared_mutex.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/when_all.hpp"

namespace {

using namespace holdfast::coro;

TEST(CoroBarrier, RoundsAreOfThoseWhoHaveNotDroppedOut) {
    for (unsigned count : {1u, 2u}) {
        pool workers(count);
        constexpr int tasks = 6;
        barrier rounds(tasks);
        std::atomic<int> come[tasks] = {};
        // Task i comes to i rounds, and drops out at the next.
        auto comes = [&](int me) -> task<> {
            for (int round = 0; round < me; round++) {
                come[round]++;
                co_await rounds.arrive_and_wait();
                int others = come[round];
                EXPECT_EQ(others, tasks - round) << "a round ended before all had come";
                if (round % 2 == 0)
                    co_await yield();
            }
            come[me]++;
            rounds.arrive_and_drop();
        };
        std::vector<task<>> all;
        for (int i = 0; i < tasks; i++)
            all.push_back(comes(i));
        sync_wait(workers, when_all(std::move(all)));
        for (int round = 0; round < tasks; round++)
            EXPECT_EQ(come[round], tasks - round);
    }
}

TEST(CoroSharedMutex, AWriterGoesOnAsAReaderBeforeTheNextWriter) {
    pool workers(1);
    shared_mutex guard;
    int value = 0, read_by_others = 0;
    auto begins = [&]() -> task<> {
        auto writer = co_await guard.scoped_lock();
        value = 1;
        co_await let_others_run(); // a reader, a writer and another reader wait now
        EXPECT_EQ(read_by_others, 0);
        shared_lock reader = guard.downgrade(std::move(writer));
        EXPECT_FALSE(writer.owns_lock());
        co_await let_others_run();
        EXPECT_EQ(read_by_others, 1) << "the one before the writer, and that one alone";
        EXPECT_EQ(value, 1);
        co_await reader.unlock();
    };
    auto reads = [&](int expected) -> task<> {
        shared_lock reader = co_await guard.scoped_lock_shared();
        EXPECT_EQ(value, expected);
        read_by_others++;
        co_await reader.unlock();
    };
    auto writes = [&]() -> task<> {
        auto writer = co_await guard.scoped_lock();
        value = 2;
        co_await writer.unlock();
    };
    auto all = [&]() -> task<> { co_await when_all(begins(), reads(1), writes(), reads(2)); };
    sync_wait(workers, all());
    EXPECT_EQ(value, 2);
    EXPECT_EQ(read_by_others, 2);
    EXPECT_TRUE(guard.try_lock());
    guard.downgrade();
    EXPECT_TRUE(guard.try_lock_shared());
    EXPECT_FALSE(guard.try_lock());
    guard.unlock_shared_unsuspended();
    guard.unlock_shared_unsuspended();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
}

TEST(CoroSharedMutex, TheNextWriterWaitsForOneThatGoesOnAsAReader) {
    pool workers(1);
    shared_mutex guard;
    int value = 0;
    auto begins = [&]() -> task<> {
        auto writer = co_await guard.scoped_lock();
        value = 1;
        co_await let_others_run(); // the other writer waits now
        shared_lock reader = guard.downgrade(std::move(writer));
        co_await let_others_run();
        EXPECT_EQ(value, 1);
        co_await reader.unlock();
    };
    auto writes = [&]() -> task<> {
        auto writer = co_await guard.scoped_lock();
        value = 2;
        co_await writer.unlock();
    };
    auto both = [&]() -> task<> { co_await when_all(begins(), writes()); };
    sync_wait(workers, both());
    EXPECT_EQ(value, 2);
}

} // namespace
