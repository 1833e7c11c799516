// SPDX-License-Identifier: MIT OR Apache-2.0
// Guards of mutexes, of readers and writers, and of permits, with limits and without.
//
// Shown able to fail, each by the test named: a reader's guard that gives back as a writer's, a destructor that gives
// nothing back (GiveBackByTheirDestructors); a guard that is not empty when its limit was reached, or that lets its
// mutex go when it is moved (AreEmptyWhenALimitIsReached, AreMoved).
#include <gtest/gtest.h>
#include <stdexcept>
#include <type_traits>

#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

bool is_free(shared_mutex &one) {
    bool free = one.try_lock();
    if (free)
        one.unlock_unsuspended();
    return free;
}

TEST(CoroGuards, GiveBackByTheirDestructors) {
    pool worker(1u);
    shared_mutex shared;
    auto read_and_throw = [&]() -> task<> {
        auto held = co_await shared.scoped_lock_shared();
        auto also = co_await shared.scoped_lock_shared();
        EXPECT_FALSE(is_free(shared));
        throw std::runtime_error("amid a section");
    };
    EXPECT_THROW(sync_wait(worker, read_and_throw()), std::runtime_error);
    EXPECT_TRUE(is_free(shared));
    auto write = [&]() -> task<> {
        auto held = co_await shared.scoped_lock();
        EXPECT_FALSE(shared.try_lock_shared());
    };
    sync_wait(worker, write());
    EXPECT_TRUE(is_free(shared));
}

TEST(CoroGuards, GiveBackByUnlock) {
    pool worker(1u);
    shared_mutex shared;
    auto run = [&]() -> task<> {
        auto read = co_await shared.scoped_lock_shared();
        co_await read.unlock();
        EXPECT_FALSE(read);
        EXPECT_TRUE(is_free(shared));
        auto written = co_await shared.scoped_lock();
        co_await written.unlock();
        EXPECT_TRUE(is_free(shared));
    };
    sync_wait(worker, run());
}

TEST(CoroGuards, KeepOnePermitOfASemaphore) {
    pool worker(1u);
    counting_semaphore permits(2);
    auto run = [&]() -> task<> {
        auto first = co_await permits.scoped_acquire();
        {
            auto second = co_await permits.try_scoped_acquire_for(1h);
            EXPECT_TRUE(second);
            EXPECT_FALSE(permits.try_acquire());
            auto late = co_await permits.try_scoped_acquire_until(deadline_clock::now() + 1ms);
            EXPECT_FALSE(late);
            std::stop_source stop;
            stop.request_stop();
            auto stopped = co_await permits.scoped_acquire(stop.get_token());
            EXPECT_FALSE(stopped);
        }
        auto again = co_await permits.scoped_acquire(std::stop_token());
        EXPECT_TRUE(again) << "the destructor gave it back";
        co_await first.unlock();
        EXPECT_FALSE(first);
        EXPECT_TRUE(permits.try_acquire());
        EXPECT_FALSE(permits.try_acquire());
    };
    sync_wait(worker, run());
}

TEST(CoroGuards, AreEmptyWhenALimitIsReached) {
    pool worker(1u);
    shared_mutex shared;
    mutex whole;
    std::stop_source stop;
    stop.request_stop();
    auto run = [&]() -> task<> {
        auto first = co_await shared.try_scoped_lock_shared_for(1h);
        EXPECT_TRUE(first);
        auto late = co_await shared.try_scoped_lock_for(1ms);
        EXPECT_FALSE(late);
        auto stopped = co_await shared.scoped_lock(stop.get_token());
        EXPECT_FALSE(stopped.owns_lock());
        auto second = co_await shared.scoped_lock_shared(stop.get_token());
        EXPECT_TRUE(second) << "it did not have to wait";
        auto held = co_await whole.try_scoped_lock_for(1h);
        EXPECT_TRUE(held);
        auto late_too = co_await whole.try_scoped_lock_for(1ms);
        EXPECT_FALSE(late_too);
        auto stopped_too = co_await whole.scoped_lock(stop.get_token());
        EXPECT_FALSE(stopped_too);
    };
    sync_wait(worker, run());
    EXPECT_TRUE(is_free(shared));
    EXPECT_TRUE(whole.try_lock());
    whole.unlock_unsuspended();
}

TEST(CoroGuards, AreMoved) {
    pool worker(1u);
    shared_mutex shared;
    auto run = [&]() -> task<> {
        auto held = co_await shared.scoped_lock();
        shared_mutex::scoped_lock_type other = std::move(held);
        EXPECT_TRUE(other);
        EXPECT_EQ(other.mutex(), &shared);
        shared_mutex::scoped_lock_type &same = other;
        other = std::move(same);
        EXPECT_FALSE(is_free(shared));
        other = {};
        EXPECT_TRUE(is_free(shared));
    };
    sync_wait(worker, run());
    static_assert(!std::is_copy_constructible_v<scoped_lock>);
}

} // namespace
