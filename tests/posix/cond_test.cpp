// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables with every type of mutex: waking, deadlines, cancellation.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

timespec from_now(clockid_t clock, long ms) {
    timespec at{};
    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1'000'000;
    at.tv_sec += at.tv_nsec / 1'000'000'000;
    at.tv_nsec %= 1'000'000'000;
    return at;
}

class cond_with_every_type : public testing::TestWithParam<int> {
protected:
    cond_with_every_type() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, GetParam());
        pthread_mutex_init(&mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    ~cond_with_every_type() override {
        EXPECT_EQ(pthread_cond_destroy(&cond), 0);
        EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }

    pthread_mutex_t mutex{};
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
};

TEST_P(cond_with_every_type, PassesTurns) {
    constexpr int threads = 4, turns = 400;
    int turn = 0;
    std::vector<std::thread> team;
    for (int member = 0; member < threads; member++)
        team.emplace_back([&, member] {
            for (int round = 0; round < turns / threads; round++) {
                ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
                while (turn % threads != member)
                    ASSERT_EQ(pthread_cond_wait(&cond, &mutex), 0);
                turn++;
                ASSERT_EQ(pthread_cond_broadcast(&cond), 0);
                ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
            }
        });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(turn, turns);
}

TEST_P(cond_with_every_type, HoldsTheMutexAgainAfterATimeout) {
    ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    timespec at = from_now(CLOCK_REALTIME, 10);
    EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
    at = from_now(CLOCK_MONOTONIC, 10);
    EXPECT_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    std::thread([this] { EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY); }).join();
    at.tv_nsec = -1;
    EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), EINVAL);
    std::thread([this] { EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY); }).join();
    ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
    std::thread([this] {
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    }).join();
}

TEST_P(cond_with_every_type, ACancelledWaiterHoldsTheMutexInItsCleanup) {
    struct shared_state {
        pthread_mutex_t *mutex;
        pthread_cond_t *cond;
        std::atomic<bool> waiting = false;
        int unlocked = -1;
    } state{.mutex = &mutex, .cond = &cond};
    for (int round = 0; round < 50; round++) {
        state.waiting = false;
        state.unlocked = -1;
        pthread_t waiter;
        ASSERT_EQ(pthread_create(
                      &waiter, nullptr,
                      [](void *pointer) -> void * {
                          auto *own = static_cast<shared_state *>(pointer);
                          pthread_mutex_lock(own->mutex);
                          pthread_cleanup_push(
                              [](void *again) {
                                  auto *in_cleanup = static_cast<shared_state *>(again);
                                  in_cleanup->unlocked = pthread_mutex_unlock(in_cleanup->mutex);
                              },
                              own);
                          own->waiting = true;
                          for (;;)
                              pthread_cond_wait(own->cond, own->mutex);
                          pthread_cleanup_pop(0);
                          return nullptr;
                      },
                      &state),
                  0);
        while (!state.waiting)
            sched_yield();
        if (round % 2)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ASSERT_EQ(pthread_cancel(waiter), 0);
        void *result = nullptr;
        ASSERT_EQ(pthread_join(waiter, &result), 0);
        EXPECT_EQ(result, PTHREAD_CANCELED);
        EXPECT_EQ(state.unlocked, 0) << "it held the mutex";
        ASSERT_EQ(pthread_mutex_lock(&mutex), 0) << "and gave it back";
        ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(cond, cond_with_every_type,
                         testing::Values(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                         PTHREAD_MUTEX_ADAPTIVE_NP));

TEST(cond, OfAMonotonicClockTimesOut) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    ASSERT_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    pthread_cond_t cond;
    pthread_cond_init(&cond, &attributes);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    timespec at = from_now(CLOCK_MONOTONIC, 10);
    EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&cond);
}

TEST(cond, WaitingWithAMutexThatIsNotHeldIsAnErrorOfTheErrorcheckType) {
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    EXPECT_EQ(pthread_cond_wait(&cond, &mutex), EPERM);
    ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
}

// As in a server with a queue: bounded, many producers and consumers, everything arrives once.
TEST(standard_library, BoundedQueueDeliversEverything) {
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::vector<int> queue;
    constexpr int producers = 3, consumers = 3, items = 60; // few: a lock that collapses must get through too
    std::atomic<long> produced = 0, consumed = 0;
    std::atomic<int> left = producers * items;
    std::vector<std::thread> team;
    for (int p = 0; p < producers; p++)
        team.emplace_back([&, p] {
            for (int i = 0; i < items; i++) {
                std::unique_lock lock(mutex);
                not_full.wait(lock, [&] { return queue.size() < 16; });
                queue.push_back(p * items + i);
                produced += p * items + i;
                not_empty.notify_one();
            }
        });
    for (int c = 0; c < consumers; c++)
        team.emplace_back([&] {
            while (left > 0) {
                std::unique_lock lock(mutex);
                if (!not_empty.wait_for(lock, std::chrono::milliseconds(5), [&] { return !queue.empty(); }))
                    continue;
                consumed += queue.back();
                queue.pop_back();
                left--;
                not_full.notify_one();
            }
        });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(produced, consumed);
}

TEST(standard_library, TimedMutexesWork) {
    std::timed_mutex timed;
    std::recursive_timed_mutex recursive;
    timed.lock();
    recursive.lock();
    EXPECT_TRUE(recursive.try_lock_for(std::chrono::milliseconds(1)));
    std::thread([&] {
        EXPECT_FALSE(timed.try_lock_for(std::chrono::milliseconds(5)));
        EXPECT_FALSE(recursive.try_lock_until(std::chrono::system_clock::now() + std::chrono::milliseconds(5)));
    }).join();
    recursive.unlock();
    recursive.unlock();
    timed.unlock();
}

} // namespace
