// SPDX-License-Identifier: MIT OR Apache-2.0
// What the C++ library makes of pthread functions: mutexes, shared mutexes, condition variables, call_once, and the
// primitives of C++20 that do without.
#include <atomic>
#include <barrier>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore.h>
#include <shared_mutex>
#include <stop_token>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::seconds patience(patience_s);

template <class Mutex>
class every_mutex : public testing::Test {
protected:
    Mutex mutex;
};
using mutexes = testing::Types<std::mutex, std::recursive_mutex, std::timed_mutex, std::recursive_timed_mutex,
                               std::shared_mutex, std::shared_timed_mutex>;
TYPED_TEST_SUITE(every_mutex, mutexes);

TYPED_TEST(every_mutex, Excludes) {
    constexpr int threads = 4, rounds = 2000;
    long first = 0, second = 0;
    team all(threads, [&](int) {
        for (int round = 0; round < rounds; round++) {
            std::unique_lock lock(this->mutex, std::defer_lock);
            if (round % 4 || !lock.try_lock())
                lock.lock();
            EXPECT_EQ(first++, second++);
        }
    });
    all.join();
    EXPECT_EQ(first, threads * rounds);
}

TYPED_TEST(every_mutex, TriesInVainWhileAnotherHoldsIt) {
    std::lock_guard guard(this->mutex);
    in_thread([&] { EXPECT_FALSE(this->mutex.try_lock()); });
}

template <class Mutex>
class every_timed_mutex : public every_mutex<Mutex> {};
using timed_mutexes = testing::Types<std::timed_mutex, std::recursive_timed_mutex, std::shared_timed_mutex>;
TYPED_TEST_SUITE(every_timed_mutex, timed_mutexes);

TYPED_TEST(every_timed_mutex, GivesUpAfterItsTimeAndGetsInBefore) {
    auto &mutex = this->mutex;
    mutex.lock();
    in_thread([&] {
        EXPECT_FALSE(mutex.try_lock_for(5ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() + 5ms));
        EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 5ms));
        EXPECT_FALSE(mutex.try_lock_for(-1s));
    });
    team waiter;
    waiter.add([&] {
        EXPECT_TRUE(mutex.try_lock_for(patience));
        mutex.unlock();
    });
    a_short_while();
    mutex.unlock();
}

TEST(recursive_timed_mutex, IsHeldUntilEachLevelIsGivenBack) {
    std::recursive_timed_mutex mutex;
    mutex.lock();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_for(1ms));
    for (int level = 0; level < 3; level++) {
        in_thread([&] { EXPECT_FALSE(mutex.try_lock_for(1ms)); });
        mutex.unlock();
    }
    in_thread([&] {
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

template <class Mutex>
class every_shared_mutex : public every_mutex<Mutex> {};
using shared_mutexes = testing::Types<std::shared_mutex, std::shared_timed_mutex>;
TYPED_TEST_SUITE(every_shared_mutex, shared_mutexes);

TYPED_TEST(every_shared_mutex, ReadersAreInsideTogetherAndKeepWritersOut) {
    constexpr int readers = 4;
    std::atomic<int> inside = 0;
    team all(readers, [&](int) {
        std::shared_lock lock(this->mutex);
        inside++;
        EXPECT_TRUE(eventually([&] { return inside >= readers; }));
        in_thread([&] {
            EXPECT_FALSE(this->mutex.try_lock());
            std::shared_lock another(this->mutex, std::try_to_lock);
            EXPECT_TRUE(another.owns_lock());
        });
        inside++;
        EXPECT_TRUE(eventually([&] { return inside == 2 * readers; }));
    });
    all.join();
    std::unique_lock lock(this->mutex);
    in_thread([&] {
        EXPECT_FALSE(this->mutex.try_lock_shared());
        EXPECT_FALSE(this->mutex.try_lock());
    });
}

TYPED_TEST(every_shared_mutex, AMixtureOfReadersAndWritersExcludes) {
    constexpr int threads = 5, rounds = 800;
    long first = 0, second = 0;
    team all(threads, [&](int member) {
        for (int round = 0; round < rounds; round++) {
            if ((round + member) % 4 == 0) {
                std::unique_lock lock(this->mutex);
                EXPECT_EQ(first++, second++);
            } else {
                std::shared_lock lock(this->mutex);
                EXPECT_EQ(first, second);
            }
        }
    });
    all.join();
    EXPECT_EQ(first, threads * rounds / 4);
}

TEST(shared_timed_mutex, ReadersGiveUpAfterTheirTime) {
    std::shared_timed_mutex mutex;
    std::unique_lock lock(mutex);
    in_thread([&] {
        EXPECT_FALSE(mutex.try_lock_shared_for(5ms));
        EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::system_clock::now() + 5ms));
        EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 5ms));
    });
    lock.unlock();
    in_thread([&] { EXPECT_TRUE(std::shared_lock(mutex, 5ms).owns_lock()); });
}

TEST(scoped_lock, TakesManyMutexesInAnyOrder) {
    std::mutex one;
    std::recursive_mutex two;
    std::timed_mutex three;
    long first = 0, second = 0;
    team all(4, [&](int member) {
        for (int round = 0; round < 300; round++) {
            if (member % 2) {
                std::scoped_lock lock(one, two, three);
                EXPECT_EQ(first++, second++);
            } else {
                std::scoped_lock lock(three, one, two);
                EXPECT_EQ(first++, second++);
            }
        }
    });
    all.join();
    EXPECT_EQ(first, 1200);
}

// As in a server with a queue: bounded, many producers and consumers, everything arrives once.
TEST(condition_variable, OfABoundedQueueDeliversEverything) {
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::vector<int> queue;
    constexpr int producers = 3, consumers = 3, items = 60; // few: a lock that collapses must get through too
    std::atomic<long> produced = 0, consumed = 0;
    std::atomic<int> left = producers * items;
    team all;
    for (int p = 0; p < producers; p++)
        all.add([&, p] {
            for (int i = 0; i < items; i++) {
                std::unique_lock lock(mutex);
                not_full.wait(lock, [&] { return queue.size() < 16; });
                queue.push_back(p * items + i);
                produced += p * items + i;
                not_empty.notify_one();
            }
        });
    for (int c = 0; c < consumers; c++)
        all.add([&] {
            while (left > 0) {
                std::unique_lock lock(mutex);
                if (!not_empty.wait_for(lock, 5ms, [&] { return !queue.empty(); }))
                    continue;
                consumed += queue.back();
                queue.pop_back();
                left--;
                not_full.notify_one();
            }
        });
    all.join();
    EXPECT_EQ(produced, consumed);
}

TEST(condition_variable, WaitsByEitherClock) {
    std::mutex mutex;
    std::condition_variable cond;
    std::unique_lock lock(mutex);
    EXPECT_FALSE(cond.wait_for(lock, 5ms, [] { return false; }));
    EXPECT_FALSE(cond.wait_until(lock, std::chrono::system_clock::now() + 5ms, [] { return false; }));
    EXPECT_FALSE(cond.wait_until(lock, std::chrono::steady_clock::now() + 5ms, [] { return false; }));
    EXPECT_TRUE(lock.owns_lock());
    in_thread([&] { EXPECT_FALSE(mutex.try_lock()); });
}

TEST(condition_variable, NotifiesAllWhenAThreadHasEnded) {
    std::mutex mutex;
    std::condition_variable cond;
    bool ended = false;
    std::unique_lock lock(mutex);
    team notifier;
    notifier.add([&] {
        std::unique_lock own(mutex);
        ended = true;
        std::notify_all_at_thread_exit(cond, std::move(own));
    });
    cond.wait(lock, [&] { return ended; });
    EXPECT_TRUE(ended);
    lock.unlock();
}

template <class Mutex>
class condition_variable_with : public every_mutex<Mutex> {};
TYPED_TEST_SUITE(condition_variable_with, mutexes);

TYPED_TEST(condition_variable_with, PassesTurns) {
    std::condition_variable_any cond;
    constexpr int threads = 3, turns = 150;
    int turn = 0;
    team all(threads, [&](int member) {
        for (int round = 0; round < turns / threads; round++) {
            std::unique_lock lock(this->mutex);
            cond.wait(lock, [&] { return turn % threads == member; });
            turn++;
            cond.notify_all();
        }
    });
    all.join();
    EXPECT_EQ(turn, turns);
}

TEST(condition_variable_any, StopsWaitingWhenAskedTo) {
    std::mutex mutex;
    std::condition_variable_any cond;
    for (int round = 0; round < 20; round++) {
        std::stop_source source;
        team waiter;
        waiter.add([&] {
            std::unique_lock lock(mutex);
            EXPECT_FALSE(cond.wait(lock, source.get_token(), [] { return false; }));
            EXPECT_TRUE(lock.owns_lock());
        });
        if (round % 2)
            std::this_thread::sleep_for(1ms);
        source.request_stop();
    }
}

TEST(condition_variable_any, WaitsWithASharedLock) {
    std::shared_mutex mutex;
    std::condition_variable_any cond;
    bool ready = false;
    std::atomic<int> seen = 0;
    team waiters(3, [&](int) {
        std::shared_lock lock(mutex);
        cond.wait(lock, [&] { return ready; });
        seen++;
    });
    a_short_while();
    {
        std::unique_lock lock(mutex);
        ready = true;
    }
    cond.notify_all();
    waiters.join();
    EXPECT_EQ(seen, 3);
}

TEST(call_once, CallsOnceAndAllWaitForIt) {
    for (int round = 0; round < 100; round++) {
        std::once_flag flag;
        std::atomic<int> calls = 0, done = 0;
        team all(4, [&](int) {
            std::call_once(flag, [&] {
                calls++;
                sched_yield();
                done = 1;
            });
            EXPECT_EQ(done, 1) << "nobody goes on before it is done";
        });
        all.join();
        EXPECT_EQ(calls, 1);
    }
}

TEST(call_once, PassesOnToTheNextWhatThrew) {
    std::once_flag flag;
    std::atomic<int> attempts = 0, threw = 0;
    auto attempt = [&] {
        try {
            std::call_once(flag, [&] {
                if (attempts++ < 2)
                    throw 1;
            });
        } catch (int) {
            threw++;
        }
    };
    for (int i = 0; i < 4; i++)
        in_thread(attempt);
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(threw, 2);
}

int initialisations = 0;
int slowly_initialised() {
    a_short_while();
    return ++initialisations;
}

TEST(local_static, IsInitialisedByOneThreadThatTheOthersWaitFor) {
    team all(4, [](int) {
        static int value = slowly_initialised();
        EXPECT_EQ(value, 1);
    });
}

TEST(latch, LetsAllGoWhenItReachesZero) {
    constexpr int threads = 5;
    std::latch arrived(threads), go(1);
    std::atomic<int> gone = 0;
    team all(threads, [&](int) {
        arrived.count_down();
        go.wait();
        gone++;
    });
    arrived.wait();
    EXPECT_EQ(gone, 0);
    go.count_down();
    all.join();
    EXPECT_EQ(gone, threads);
}

TEST(barrier, RunsItsCompletionOnceARound) {
    constexpr int threads = 4, rounds = 100;
    int completed = 0;
    auto complete = [&]() noexcept { completed++; };
    std::barrier barrier(threads, complete);
    team all(threads, [&](int) {
        for (int round = 1; round <= rounds; round += 2) {
            barrier.arrive_and_wait();
            EXPECT_EQ(completed, round);
            barrier.arrive_and_wait();
        }
    });
    all.join();
    EXPECT_EQ(completed, rounds);
}

// POSIX's. std::counting_semaphore of gcc 12 is not for tests: it waits by futexes of its own and can lose a wake
// (libstdc++ bug 104928), with and without Holdfast.
TEST(semaphore, LetsNoMoreInThanItCounts) {
    constexpr int places = 3;
    sem_t semaphore;
    ASSERT_EQ(sem_init(&semaphore, 0, places), 0);
    std::atomic<int> inside = 0;
    team all(8, [&](int) {
        for (int round = 0; round < 100; round++) {
            EXPECT_EQ(sem_wait(&semaphore), 0);
            int now = ++inside;
            EXPECT_LE(now, places);
            sched_yield();
            inside--;
            EXPECT_EQ(sem_post(&semaphore), 0);
        }
    });
    all.join();
    for (int place = 0; place < places; place++)
        EXPECT_EQ(sem_trywait(&semaphore), 0);
    EXPECT_EQ(sem_trywait(&semaphore), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(sem_destroy(&semaphore), 0);
}

TEST(future, DeliversValuesAndExceptions) {
    for (int round = 0; round < 50; round++) {
        std::promise<int> promise;
        auto future = promise.get_future();
        EXPECT_EQ(future.wait_for(0ms), std::future_status::timeout);
        auto doubled = std::async(std::launch::async, [&] { return 2 * future.get(); });
        promise.set_value(round);
        EXPECT_EQ(doubled.get(), 2 * round);
    }
    auto failing = std::async(std::launch::async, []() -> int { throw 1; });
    EXPECT_THROW(failing.get(), int);
}

TEST(jthread, IsStoppedAndJoinedWhenItGoes) {
    std::atomic<bool> stopped = false;
    {
        std::jthread thread([&](std::stop_token token) {
            while (!token.stop_requested())
                std::this_thread::yield();
            stopped = true;
        });
    }
    EXPECT_TRUE(stopped);
}

} // namespace
} // namespace holdfast::test
