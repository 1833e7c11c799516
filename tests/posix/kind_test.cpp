// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads of several kinds, by their names, at one mutex. Runs under u-SCL with classes by thread and by name
// (tests/posix/CMakeLists.txt).
//
// Shown able to fail: classes by thread (GetEqualShares: the writer has a quarter); hf_slices_share_of that takes a
// class of one thread for one of several, with slices of 100 ms (HandTheMutexToEachOther).
#include <chrono>
#include <gtest/gtest.h>
#include <pthread.h>

#include "hand_over.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

using steady = std::chrono::steady_clock;

constexpr int readers = 3;

void be_called(const char *kind, int number) {
    pthread_setname_np(pthread_self(), (kind + std::to_string(number)).c_str());
}

// The writer's part of the time that the mutex was held, of so long.
double part_of_the_writer(std::chrono::milliseconds measured) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    steady::duration held[1 + readers] = {};
    std::atomic<bool> stopped = false;
    team all(1 + readers, [&](int member) {
        be_called(member == 0 ? "writer" : "reader-", member);
        while (!stopped) {
            pthread_mutex_lock(&mutex);
            auto began = steady::now();
            while (steady::now() - began < std::chrono::microseconds(20))
                continue;
            held[member] += steady::now() - began;
            pthread_mutex_unlock(&mutex);
        }
    });
    std::this_thread::sleep_for(measured);
    stopped = true;
    all.join();
    steady::duration sum{};
    for (auto one : held)
        sum += one;
    return std::chrono::duration<double>(held[0]) / sum;
}

// One of four threads, and one of two kinds. Tried again, for longer, where the machine did not let them run.
TEST(only_classes_by_name, GetEqualShares) {
    double part = 0;
    for (int ms = 300; ms <= 20'000 && (part < 0.42 || part > 0.58); ms *= 2)
        part = part_of_the_writer(std::chrono::milliseconds(ms));
    EXPECT_GT(part, 0.42);
    EXPECT_LT(part, 0.58);
}

// One thread of each kind: a slice is over when its only thread waits for a condition.
TEST(kinds, HandTheMutexToEachOther) {
    child_process child([] {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        return hand_over(mutex, 2000, [](int member) { be_called(member == 0 ? "giver-" : "taker-", 1); });
    });
    EXPECT_TRUE(child.succeeds());
}

} // namespace
} // namespace holdfast::test
