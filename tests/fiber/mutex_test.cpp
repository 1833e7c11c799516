// SPDX-License-Identifier: MIT OR Apache-2.0
// What Boost.Fiber's own mutexes are tested for, on the four of ours, without ces<> and under it: exclusion,
// try_lock, deadlines, recursion, errors.
// Shown able to fail: acquire() that does not wait (hangs); a recursive unlock that frees at once; no check of the
// owner in release(); a failed try_lock() that does not yield (hangs); a withdrawn waiter that stays linked (hangs).
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/exceptions.hpp>
#include <gtest/gtest.h>

#include "fiber/scheduling.hpp"
#include "holdfast/fibers/fibers.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using boost::fibers::lock_error;

template <class Mutex, class Algorithm>
struct variant {
    using mutex = Mutex;
    using algorithm = Algorithm;
};
template <class Mutex>
constexpr bool is_recursive =
    std::is_same_v<Mutex, fibers::recursive_mutex> || std::is_same_v<Mutex, fibers::recursive_timed_mutex>;

template <class Variant>
class Mutex : public testing::Test {};
template <class Variant>
class TimedMutex : public testing::Test {};
template <class Variant>
class RecursiveMutex : public testing::Test {};

template <class M>
using of = testing::Types<variant<M, round_robin>, variant<M, ces<round_robin>>, variant<M, shared_work>,
                          variant<M, ces<shared_work>>>;
using all = testing::Types<
    variant<fibers::mutex, round_robin>, variant<fibers::mutex, ces<round_robin>>,
    variant<fibers::mutex, ces<shared_work>>, variant<fibers::timed_mutex, round_robin>,
    variant<fibers::timed_mutex, ces<round_robin>>, variant<fibers::timed_mutex, ces<shared_work>>,
    variant<fibers::recursive_mutex, round_robin>, variant<fibers::recursive_mutex, ces<round_robin>>,
    variant<fibers::recursive_mutex, ces<shared_work>>, variant<fibers::recursive_timed_mutex, round_robin>,
    variant<fibers::recursive_timed_mutex, ces<round_robin>>, variant<fibers::recursive_timed_mutex, ces<shared_work>>>;
using timed =
    testing::Types<variant<fibers::timed_mutex, round_robin>, variant<fibers::timed_mutex, ces<round_robin>>,
                   variant<fibers::timed_mutex, ces<shared_work>>, variant<fibers::recursive_timed_mutex, round_robin>,
                   variant<fibers::recursive_timed_mutex, ces<round_robin>>,
                   variant<fibers::recursive_timed_mutex, ces<shared_work>>>;
using recursive =
    testing::Types<variant<fibers::recursive_mutex, round_robin>, variant<fibers::recursive_mutex, ces<round_robin>>,
                   variant<fibers::recursive_mutex, ces<shared_work>>,
                   variant<fibers::recursive_timed_mutex, round_robin>,
                   variant<fibers::recursive_timed_mutex, ces<shared_work>>>;
TYPED_TEST_SUITE(Mutex, all);
TYPED_TEST_SUITE(TimedMutex, timed);
TYPED_TEST_SUITE(RecursiveMutex, recursive);

TYPED_TEST(Mutex, IsLockedAndUnlocked) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        std::unique_lock held(mutex);
        EXPECT_TRUE(held.owns_lock());
        held.unlock();
        EXPECT_FALSE(held.owns_lock());
        held.lock();
        EXPECT_TRUE(held.owns_lock());
    });
}

// Each fiber yields where it is inside.
TYPED_TEST(Mutex, OneIsInside) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        int inside = 0, sections = 0;
        fiber_group group;
        for (int i = 0; i < 8; i++)
            group.start([&] {
                for (int round = 0; round < 50; round++) {
                    std::lock_guard held(mutex);
                    EXPECT_EQ(++inside, 1);
                    boost::this_fiber::yield();
                    inside--;
                    sections++;
                }
            });
        group.wait();
        EXPECT_EQ(sections, 400);
    });
}

// The fiber that a thread began with, and one started there, take it in turns.
TYPED_TEST(Mutex, FirstFiberOfTheThreadWaits) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        int value = 0;
        mutex.lock();
        fiber_group group;
        group.start([&] {
            std::lock_guard held(mutex);
            EXPECT_EQ(value, 1);
            boost::this_fiber::yield();
            value = 2;
        });
        boost::this_fiber::yield();
        value = 1;
        mutex.unlock();
        boost::this_fiber::yield();
        mutex.lock();
        EXPECT_EQ(value, 2);
        mutex.unlock();
        group.wait();
    });
}

TYPED_TEST(Mutex, TryLock) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        EXPECT_TRUE(mutex.try_lock());
        fiber_group group;
        bool failed = false;
        group.start([&] { failed = !mutex.try_lock(); });
        group.wait();
        EXPECT_TRUE(failed);
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

// With one thread the owner could not go on if a failed try_lock() gave nobody a turn.
TYPED_TEST(Mutex, LoopOfTryLockEnds) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        fiber_group group;
        group.start([&] {
            std::lock_guard held(mutex);
            for (int i = 0; i < 5; i++)
                boost::this_fiber::yield();
        });
        group.start([&] {
            while (!mutex.try_lock())
                ;
            mutex.unlock();
        });
        group.wait();
    });
}

TYPED_TEST(Mutex, UnlockByAnotherIsAnError) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        auto refused = [&] {
            try {
                mutex.unlock();
            } catch (const lock_error &error) {
                return error.code() == std::errc::operation_not_permitted;
            }
            return false;
        };
        EXPECT_TRUE(refused());
        mutex.lock();
        fiber_group group;
        bool refused_there = false;
        group.start([&] { refused_there = refused(); });
        group.wait();
        EXPECT_TRUE(refused_there);
        mutex.unlock();
    });
}

TYPED_TEST(Mutex, LockByItsOwner) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        std::lock_guard held(mutex);
        auto refused = [&](auto lock) {
            try {
                lock();
            } catch (const lock_error &error) {
                return error.code() == std::errc::resource_deadlock_would_occur;
            }
            mutex.unlock();
            return false;
        };
        constexpr bool expected = !is_recursive<typename TypeParam::mutex>;
        EXPECT_EQ(refused([&] { mutex.lock(); }), expected);
        EXPECT_EQ(refused([&] { EXPECT_TRUE(mutex.try_lock()); }), expected);
    });
}

TYPED_TEST(RecursiveMutex, IsFreeAfterAsManyUnlocks) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        fiber_group group;
        bool entered = false;
        for (int i = 0; i < 3; i++)
            mutex.lock();
        EXPECT_TRUE(mutex.try_lock());
        group.start([&] {
            std::lock_guard held(mutex);
            entered = true;
        });
        for (int i = 0; i < 4; i++) {
            boost::this_fiber::yield();
            EXPECT_FALSE(entered);
            mutex.unlock();
        }
        group.wait();
        EXPECT_TRUE(entered);
    });
}

TYPED_TEST(TimedMutex, TimeIsOver) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        mutex.lock();
        fiber_group group;
        group.start([&] {
            auto began = std::chrono::steady_clock::now();
            EXPECT_FALSE(mutex.try_lock_for(20ms));
            EXPECT_GE(std::chrono::steady_clock::now() - began, 20ms);
            EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 10ms));
            EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() + 10ms));
            EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() - 1s));
        });
        group.wait();
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock_for(-1s)); // it is free
        mutex.unlock();
    });
}

TYPED_TEST(TimedMutex, IsGotInTime) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        mutex.lock();
        fiber_group group;
        int got = 0;
        for (int i = 0; i < 3; i++)
            group.start([&] {
                ASSERT_TRUE(mutex.try_lock_for(std::chrono::milliseconds(patience_ms)));
                got++;
                boost::this_fiber::yield();
                mutex.unlock();
            });
        boost::this_fiber::yield();
        EXPECT_EQ(got, 0);
        mutex.unlock();
        group.wait();
        EXPECT_EQ(got, 3);
    });
}

// One that gave up in the middle is passed over, and those behind it are not forgotten.
TYPED_TEST(TimedMutex, OthersAreNotForgotten) {
    on_threads<typename TypeParam::algorithm>(1, [] {
        typename TypeParam::mutex mutex;
        mutex.lock();
        fiber_group waiters, late;
        int entered = 0;
        auto enter = [&] {
            std::lock_guard held(mutex);
            entered++;
        };
        waiters.start(enter);
        late.start([&] { EXPECT_FALSE(mutex.try_lock_for(10ms)); });
        waiters.start(enter);
        late.wait();
        mutex.unlock();
        waiters.wait();
        EXPECT_EQ(entered, 2);
    });
}

} // namespace
} // namespace holdfast::test
