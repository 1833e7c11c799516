// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that hand a mutex to each other and do not want it back. Under u-SCL with slices of 100 ms, in which this
// runs too (tests/posix/CMakeLists.txt), each hand-over would take so long if the slice were not over: then no case
// comes to its end before its alarm.
//
// Shown able to fail: hf_mutex_unlock_to_wait that only unlocks (both conditions); hf_slices_choose that does not ask
// whether a slice's owner is dead, and no function at thread exit (AThreadThatExits).
#include <gtest/gtest.h>
#include <pthread.h>

#include "hand_over.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int rounds = 2000;

// Two threads meet, so that a lock of time has slices from then on.
void contend(pthread_mutex_t &mutex) {
    std::atomic<bool> come = false;
    pthread_mutex_lock(&mutex);
    std::thread other([&] {
        come = true;
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    });
    while (!come)
        sched_yield();
    a_short_while();
    pthread_mutex_unlock(&mutex);
    other.join();
}

TEST(slice, IsOverWhenItsOwnerWaitsForACondition) {
    child_process child([] {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        contend(mutex);
        return hand_over(mutex, rounds, [](int) {});
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(slice, OfAThreadThatExitsIsOver) {
    child_process child([] {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        int count = 0;
        contend(mutex);
        for (int round = 0; round < rounds; round++)
            in_thread([&] {
                pthread_mutex_lock(&mutex);
                count++;
                pthread_mutex_unlock(&mutex);
            });
        return count == rounds;
    });
    EXPECT_TRUE(child.succeeds());
}

} // namespace
} // namespace holdfast::test
