// SPDX-License-Identifier: MIT OR Apache-2.0
// The C++ face of RW-SCL with the standard library's own users of shared mutexes.
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "holdfast/shared_mutex.hpp"

namespace {

using namespace std::chrono_literals;

TEST(rwscl_shared_mutex, WorksWithSharedLockUniqueLockAndScopedLock) {
    static constinit holdfast::rwscl_shared_mutex first, second;
    {
        std::shared_lock reading(first);
        std::thread([] {
            std::shared_lock too(first, std::try_to_lock);
            EXPECT_TRUE(too.owns_lock());
            EXPECT_FALSE(std::unique_lock(first, std::try_to_lock).owns_lock());
        }).join();
    }
    {
        std::scoped_lock both(first, second);
        std::thread([] {
            EXPECT_FALSE(std::shared_lock(first, std::try_to_lock).owns_lock());
            EXPECT_FALSE(std::unique_lock(second, std::try_to_lock).owns_lock());
        }).join();
    }
    EXPECT_TRUE(std::unique_lock(first, std::try_to_lock).owns_lock());
}

TEST(rwscl_shared_mutex, TakesDurationsAndTimePoints) {
    holdfast::rwscl_shared_mutex mutex;
    std::unique_lock writing(mutex);
    std::thread([&] {
        EXPECT_FALSE(mutex.try_lock_for(1ms));
        EXPECT_FALSE(mutex.try_lock_shared_for(1ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
        EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 1ms));
    }).join();
    writing.unlock();
    std::thread([&] {
        EXPECT_TRUE(mutex.try_lock_shared_for(1h));
        mutex.unlock_shared();
        EXPECT_TRUE(mutex.try_lock_until(std::chrono::system_clock::now() - 1h)) << "it is free";
        mutex.unlock();
    }).join();
}

TEST(rwscl_shared_mutex, SetsItsRatioThroughTheNativeHandle) {
    holdfast::rwscl_shared_mutex mutex;
    EXPECT_EQ(hf_rwscl_set_ratio(mutex.native_handle(), 9, 1), 0);
}

} // namespace
