// SPDX-License-Identifier: MIT OR Apache-2.0
// The primitives on executors that are not ours, through the adapters: they work, CES hands threads over there too, and
// everything ends in order. Which executors there are, CMake says: each is a header that makes one, `foreign_threads`.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>

#include "coro/gathering.hpp"
#include "coro/hand_overs_in_a_row.hpp"
#include "foreign_threads.hpp"
#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/statistics.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

static_assert(executor<pool> && executor<posting_executor> && executor<executor_base>);

TEST(CoroExecutor, OneIsInsideAtATime) {
    constexpr int tasks = 60, times = 60;
    foreign_threads threads(3);
    auto &on = threads.on();
    mutex guard;
    shared_mutex shared;
    counting_semaphore permits(1);
    long by_mutex = 0, by_shared = 0, by_permit = 0;
    gathering all;
    auto work = [&]() -> task<> {
        for (int i = 0; i < times; i++) {
            co_await guard.lock();
            by_mutex++;
            if (i % 16 == 0)
                co_await yield();
            co_await guard.unlock();
            co_await guard.with([&] { by_mutex++; });
            co_await shared.lock();
            by_shared++;
            co_await shared.unlock();
            co_await permits.acquire();
            by_permit++;
            co_await permits.release();
        }
    };
    for (int i = 0; i < tasks; i++)
        all.add(on, work());
    all.wait();
    EXPECT_EQ(by_mutex, 2L * tasks * times);
    EXPECT_EQ(by_shared, 1L * tasks * times);
    EXPECT_EQ(by_permit, 1L * tasks * times);
}

// The chain stays on the thread of who unlocked, which is theirs.
TEST(CoroExecutor, HandsOverByExchange) {
    constexpr int waiters = 50;
    statistics::reset();
    statistics::count(true);
    foreign_threads threads(2);
    auto &on = threads.on();
    mutex guard;
    std::atomic<int> come = 0;
    gathering all;
    auto work = [&]() -> task<> {
        come++;
        co_await guard.lock();
        co_await guard.unlock();
    };
    auto lead = [&]() -> task<> {
        co_await guard.lock();
        for (int i = 0; i < waiters; i++)
            all.add(on, work());
        while (come < waiters)
            co_await yield();
        for (int turn = 0; turn < 100; turn++)
            co_await yield();
        co_await guard.unlock();
    };
    sync_wait(on, lead());
    all.wait();
    statistics::count(false);
    std::uint64_t at_once = 0;
    for (const primitive_counts &one : statistics::read())
        if (one.address == &guard)
            at_once = one.by(passage::at_once);
    EXPECT_GE(at_once, waiters / 2); // nearly all of them had to wait
}

TEST(CoroExecutor, LimitsAndAllElseWork) {
    foreign_threads threads(2);
    auto &on = threads.on();
    mutex guard;
    condition_variable changed;
    channel<int> values(2);
    bool ready = false;
    auto wait = [&]() -> task<int> {
        auto held = co_await guard.scoped_lock();
        co_await changed.wait(held, [&] { return ready; });
        co_return 1;
    };
    auto notify = [&]() -> task<int> {
        EXPECT_TRUE(co_await sleep_for(1ms));
        auto held = co_await guard.scoped_lock();
        ready = true;
        changed.notify_all();
        co_await held.unlock();
        co_return 2;
    };
    auto send = [&]() -> task<> {
        for (int i = 0; i < 100; i++)
            static_cast<void>(co_await values.send(i));
        values.close();
    };
    auto receive = [&]() -> task<int> {
        int sum = 0;
        while (auto one = co_await values.receive())
            sum += *one;
        co_return sum;
    };
    auto all = [&]() -> task<int> {
        auto [one, two, none, sum] = co_await when_all(wait(), notify(), send(), receive());
        static_cast<void>(none);
        co_return one + two + sum;
    };
    EXPECT_EQ(sync_wait(on, all()), 3 + 99 * 100 / 2);
    ASSERT_TRUE(guard.try_lock());
    auto give_up = [&]() -> task<bool> { co_return co_await guard.try_lock_for(1ms); };
    EXPECT_FALSE(sync_wait(on, give_up()));
}

// Nothing else is queued that would run it by the way.
TEST(CoroExecutor, RunsAnOwnerThatWasLetIn) {
    foreign_threads threads(1);
    auto &on = threads.on();
    mutex guard;
    gathering all;
    auto work = [&]() -> task<> {
        co_await guard.lock();
        co_await guard.unlock();
    };
    auto come_to_it = []() -> task<> { co_await yield(); };
    for (int round = 0; round < 20; round++) {
        ASSERT_TRUE(guard.try_lock());
        all.add(on, work());
        sync_wait(on, come_to_it()); // the only thread has come to the one before: it waits
        guard.unlock_unsuspended();
        all.wait();
    }
}

// A mutex whose waiters are at home in two places: each goes on where it is at home.
TEST(CoroExecutor, EachStaysAtHome) {
    constexpr int tasks = 20, times = 100;
    foreign_threads threads(2);
    executor_base *theirs = &threads.on();
    pool ours(2u);
    mutex guard;
    std::atomic<int> elsewhere = 0;
    gathering all;
    auto work = [&](executor_base *home) -> task<> {
        for (int i = 0; i < times; i++) {
            co_await guard.lock();
            elsewhere += current_context()->home != home;
            if (i % 8 == 0)
                co_await yield();
            co_await guard.unlock();
            elsewhere += current_context()->home != home;
        }
    };
    for (int i = 0; i < tasks; i++) {
        all.add(*theirs, work(theirs));
        all.add(ours, work(&ours));
    }
    all.wait();
    EXPECT_EQ(elsewhere, 0);
}

TEST(CoroExecutor, EndsWhileTasksWaitAndRun) {
    for (int round = 0; round < 20; round++) {
        mutex guard;
        event never;
        std::atomic<int> inside = 0;
        foreign_threads threads(2);
        auto &on = threads.on();
        auto stay = [&]() -> task<> {
            auto held = co_await guard.scoped_lock();
            inside++;
            for (;;)
                co_await yield();
        };
        auto limited = [&]() -> task<> {
            if (co_await guard.try_lock_for(1h))
                co_await guard.unlock();
        };
        auto wait = [&]() -> task<> { co_await never.wait(); };
        for (int i = 0; i < 5; i++) {
            spawn(on, stay());
            spawn(on, limited());
            spawn(on, wait());
        }
        while (inside == 0)
            std::this_thread::yield();
        on.shutdown();
        EXPECT_TRUE(guard.try_lock());
        EXPECT_THROW(sync_wait(on, wait()), executor_stopped);
    }
}

// Their threads may be gone, or never have come, with our tickets in their queue.
TEST(CoroExecutor, EndsAlthoughNobodyRunsItsTickets) {
    foreign_threads threads(0);
    int destroyed = 0;
    struct guest {
        int *count;
        explicit guest(int &of) : count(&of) {}
        guest(guest &&other) noexcept : count(std::exchange(other.count, nullptr)) {}
        ~guest() {
            if (count)
                ++*count;
        }
    };
    auto work = [](guest) -> task<> { co_return; };
    for (int i = 0; i < 10; i++)
        spawn(threads.on(), work(guest(destroyed)));
    threads.on().shutdown();
    EXPECT_EQ(destroyed, 10);
}

// Millions of hand-overs need the stack of one.
TEST(CoroExecutor, HandsOverWithoutRecursion) {
    foreign_threads threads(1, posting_options{1u << 30, false});
    mutex guard;
    hand_over_in_a_row(guard, threads.on(), 30'000);
}

} // namespace
