// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine mutex under its three policies, one promise of its header at a time. Races of limits with hand-overs:
// stress_test.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include "holdfast/coro/mutex.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "coro/gathering.hpp"
#include "coro/hand_overs_in_a_row.hpp"
#include "coro/started_by_hand.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

template <class Mutex>
class CoroMutex : public testing::Test {};

using every_policy = testing::Types<mutex, dispatch_mutex, inline_mutex>;
TYPED_TEST_SUITE(CoroMutex, every_policy);

// Under the mutex. Nobody else changes `value` while its owner is suspended, so that two inside are seen.
task<> add_one(long &value, bool suspends) {
    long before = value;
    value = before + 1;
    if (suspends)
        co_await yield(); // others come and wait
    EXPECT_EQ(value, before + 1);
}

template <class Mutex>
task<> add_under_lock(Mutex &guard, long &value, int times) {
    for (int i = 0; i < times; i++) {
        co_await guard.lock();
        co_await add_one(value, i % 16 == 0);
        co_await guard.unlock();
    }
}

template <class Mutex>
task<> add_with(Mutex &guard, long &value, int times) {
    for (int i = 0; i < times; i++)
        co_await guard.with([&] { value = value + 1; });
}

template <class Mutex>
task<> add_in_scope(Mutex &guard, long &value, int times) {
    for (int i = 0; i < times; i++) {
        auto held = co_await guard.scoped_lock();
        co_await add_one(value, i % 16 == 0);
        if (i % 3 == 0)
            continue; // the destructor unlocks
        co_await held.unlock();
    }
}

TYPED_TEST(CoroMutex, LetsOneInAtATime) {
    constexpr int tasks = 60, times = 100;
    TypeParam guard;
    long value = 0;
    pool workers(4u);
    gathering all;
    for (int i = 0; i < tasks; i++) {
        all.add(workers, add_under_lock(guard, value, times));
        all.add(workers, add_with(guard, value, times));
        all.add(workers, add_in_scope(guard, value, times));
    }
    all.wait();
    EXPECT_EQ(value, 3L * tasks * times);
    EXPECT_TRUE(guard.try_lock());
}

TYPED_TEST(CoroMutex, IsFirstComeFirstServed) {
    TypeParam guard;
    std::vector<int> order;
    pool worker(1u);
    auto come = [&](int number) -> task<> {
        co_await guard.lock();
        order.push_back(number);
        co_await guard.unlock();
    };
    gathering all;
    auto lead = [&]() -> task<> {
        co_await guard.lock();
        for (int i = 0; i < 20; i++) {
            all.add(worker, come(i));
            for (int turn = 0; turn < 40; turn++)
                co_await yield(); // it is waiting now: the only worker has come to it
        }
        co_await guard.unlock();
    };
    sync_wait(worker, lead());
    all.wait();
    ASSERT_EQ(order.size(), 20u);
    for (int i = 0; i < 20; i++)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TYPED_TEST(CoroMutex, WithReturnsWhatTheFunctionReturns) {
    TypeParam guard;
    pool workers(2u);
    auto ask = [&]() -> task<std::unique_ptr<int>> {
        co_return co_await guard.with([] { return std::make_unique<int>(7); });
    };
    EXPECT_EQ(*sync_wait(workers, ask()), 7);
}

TYPED_TEST(CoroMutex, WithThrowsWhatTheFunctionThrowsAndUnlocks) {
    TypeParam guard;
    pool workers(2u);
    gathering all;
    std::atomic<int> caught = 0;
    auto fail = [&](int number) -> task<> {
        try {
            co_await guard.with([&] { throw std::runtime_error(std::to_string(number)); });
        } catch (const std::runtime_error &error) {
            caught += error.what() == std::to_string(number);
        }
    };
    for (int i = 0; i < 50; i++)
        all.add(workers, fail(i));
    all.wait();
    EXPECT_EQ(caught, 50);
    EXPECT_TRUE(guard.try_lock());
}

TYPED_TEST(CoroMutex, TimeLimitsAndStopRequestsEndAWait) {
    TypeParam guard;
    pool workers(2u);
    ASSERT_TRUE(guard.try_lock());
    auto in_time = [&](std::chrono::nanoseconds wait) -> task<bool> { co_return co_await guard.try_lock_for(wait); };
    EXPECT_FALSE(sync_wait(workers, in_time(0ns)));
    EXPECT_FALSE(sync_wait(workers, in_time(2ms)));

    std::stop_source stop;
    auto until_stopped = [&]() -> task<bool> { co_return co_await guard.lock(stop.get_token()); };
    std::thread stopper([&] { stop.request_stop(); });
    EXPECT_FALSE(sync_wait(workers, until_stopped()));
    stopper.join();
    EXPECT_FALSE(sync_wait(workers, until_stopped()));

    guard.unlock_unsuspended();
    EXPECT_TRUE(sync_wait(workers, in_time(24h)));
}

TYPED_TEST(CoroMutex, AWaitWithALimitGetsTheMutexLikeAnyOther) {
    TypeParam guard;
    pool workers(2u);
    gathering all;
    ASSERT_TRUE(guard.try_lock());
    std::atomic<int> got = 0;
    auto come = [&]() -> task<> {
        if (co_await guard.try_lock_for(std::chrono::hours(100000000))) { // further than the clock goes
            got++;
            co_await guard.unlock();
        }
    };
    for (int i = 0; i < 20; i++)
        all.add(workers, come());
    guard.unlock_unsuspended();
    all.wait();
    EXPECT_EQ(got, 20);
}

// coro.M3: a task that gets it last destroys it, while the others that touched it may still be on their way.
TYPED_TEST(CoroMutex, TheLastOwnerMayDestroyIt) {
    pool workers(3u);
    for (int round = 0; round < 300; round++) {
        auto guard = std::make_unique<TypeParam>();
        std::atomic<int> left = 3;
        gathering all;
        auto come = [&](bool limited) -> task<> {
            if (limited)
                while (!co_await guard->try_lock_for(1h)) {
                }
            else
                co_await guard->lock();
            bool last = --left == 0;
            co_await guard->unlock();
            if (last)
                guard.reset(); // nobody else waits for it, nor has it
        };
        // Only a task that finds nobody behind itself may destroy it, so the others must have unlocked: they count down
        // inside.
        for (int i = 0; i < 3; i++)
            all.add(workers, come(i % 2 == 0));
        all.wait();
        EXPECT_FALSE(guard);
    }
}

// Resumes within whatever the caller is doing: as a worker does that is fast.
class executor_at_once final : public executor_base {
public:
    void schedule(std::coroutine_handle<> ready) noexcept override { run_here(*this, 0, ready); }
    void schedule_remote(std::coroutine_handle<> ready) noexcept override { run_here(*this, 0, ready); }
    timer_queue &timers() noexcept override { return timers_; }

private:
    timer_queue timers_;
};

// coro.M3 for those whose functions were run by the owner before: they may be the last, and destroy the mutex.
TYPED_TEST(CoroMutex, IsFreeWhenTheCallerOfItsLastSectionGoesOn) {
    TypeParam guard;
    executor_at_once here;
    bool found_free = false;
    auto come = [&]() -> task<> {
        co_await guard.with([] {});
        found_free = guard.try_lock();
        if (found_free)
            guard.unlock_unsuspended();
    };
    auto let_in = [&]() -> task<> { co_await guard.unlock(); };
    ASSERT_TRUE(guard.try_lock());
    spawn(here, come());
    EXPECT_FALSE(found_free);
    spawn(here, let_in());
    EXPECT_TRUE(found_free);
}

// It goes on when the mutex is free or another's; a task that is behind it has its turn all the same.
TYPED_TEST(CoroMutex, ASectionOnNoExecutorLetsThoseBehindItIn) {
    TypeParam guard;
    ASSERT_TRUE(guard.try_lock());
    bool went_on = false, was_in = false;
    auto come = [&]() -> started_by_hand {
        co_await guard.with([] {});
        went_on = true;
    };
    auto come_after = [&]() -> started_by_hand {
        co_await guard.lock();
        was_in = true;
        guard.unlock_unsuspended();
    };
    come();
    come_after();
    EXPECT_FALSE(went_on || was_in);
    pool workers(1u);
    sync_wait(workers, [&]() -> task<> { co_await guard.unlock(); }());
    EXPECT_TRUE(went_on && was_in && guard.try_lock());
    guard.unlock_unsuspended();
}

TYPED_TEST(CoroMutex, HandsOverWithoutRecursion) {
    TypeParam guard;
    pool worker(pool_options{1, 1u << 30});
    hand_over_in_a_row(guard, worker, 60'000);
}

TEST(CoroTask, AwaitsWithoutRecursion) {
    pool worker(1u);
    auto one = []() -> task<int> { co_return 1; };
    auto many = [&]() -> task<long> {
        long sum = 0;
        for (int i = 0; i < 300000; i++)
            sum += co_await one();
        co_return sum;
    };
    EXPECT_EQ(sync_wait(worker, many()), 300000);
}

TEST(CoroTask, CarriesExceptions) {
    pool worker(1u);
    auto fail = []() -> task<int> {
        throw std::runtime_error("no");
        co_return 1;
    };
    auto outer = [&]() -> task<int> { co_return co_await fail(); };
    EXPECT_THROW(sync_wait(worker, outer()), std::runtime_error);
}

// Owners, waiters with and without limits, closures: all are destroyed where they are, and the mutex is free.
TYPED_TEST(CoroMutex, IsFreeWhenItsPoolHasEnded) {
    for (int round = 0; round < 20; round++) {
        TypeParam guard;
        pool workers(2u);
        std::atomic<int> inside = 0;
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
        spawn(workers, stay());
        for (int i = 0; i < 5; i++) {
            spawn(workers, stay());
            spawn(workers, limited());
            spawn(workers, [](TypeParam &lock) -> task<> { co_await lock.with([] {}); }(guard));
        }
        while (inside == 0)
            std::this_thread::yield();
        workers.shutdown();
        EXPECT_TRUE(guard.try_lock());
    }
}

} // namespace
