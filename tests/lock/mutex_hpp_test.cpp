// SPDX-License-Identifier: MIT OR Apache-2.0
// The C++ faces with the standard library's own users of mutexes.
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "holdfast/mutex.hpp"

namespace {

using namespace std::chrono_literals;

template <class Mutex>
class mutex_hpp : public testing::Test {};
using all_mutexes = testing::Types<holdfast::mutex, holdfast::blocking_mutex, holdfast::ttas_mutex,
                                   holdfast::ticket_mutex, holdfast::mcs_mutex>;
TYPED_TEST_SUITE(mutex_hpp, all_mutexes);

TYPED_TEST(mutex_hpp, WorksWithLockGuardUniqueLockAndScopedLock) {
    static constinit TypeParam first, second;
    { std::lock_guard guard(first); }
    {
        std::unique_lock lock(first, std::try_to_lock);
        EXPECT_TRUE(lock.owns_lock());
        lock.unlock();
        lock.lock();
    }
    {
        std::scoped_lock both(first, second);
        std::thread([] { EXPECT_FALSE(first.try_lock()); }).join();
    }
    EXPECT_TRUE(first.try_lock());
    first.unlock();
}

TYPED_TEST(mutex_hpp, WorksWithConditionVariableAny) {
    TypeParam mutex;
    std::condition_variable_any turned;
    int turn = 0;
    std::thread other([&] {
        for (int mine = 1; mine < 1000; mine += 2) {
            std::unique_lock lock(mutex);
            turned.wait(lock, [&] { return turn == mine; });
            turn++;
            turned.notify_all();
        }
    });
    for (int mine = 0; mine < 1000; mine += 2) {
        std::unique_lock lock(mutex);
        turned.wait(lock, [&] { return turn == mine; });
        turn++;
        turned.notify_all();
    }
    other.join();
    EXPECT_EQ(turn, 1000);
}

TEST(timed_mutex, TakesDurationsAndTimePointsOfAnyClock) {
    holdfast::mutex mutex;
    mutex.lock();
    std::thread([&] {
        EXPECT_FALSE(mutex.try_lock_for(5ms));
        EXPECT_FALSE(mutex.try_lock_for(-5ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 5ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() + 5ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::file_clock::now() + 5ms));
    }).join();
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_for(0ms));
    mutex.unlock();
}

} // namespace
