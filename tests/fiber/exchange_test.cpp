// SPDX-License-Identifier: MIT OR Apache-2.0
// Who runs next, and where: combine-and-exchange scheduling, its bounds, and threads without it.
// Shown able to fail: unlock() that only makes the next owner ready; a chain without an end; an exchange while an
// exception is on its way, or is handled; bring() that tells no thread (hangs); round_robin taken for an algorithm that
// moves fibers.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>

#include "fiber/scheduling.hpp"
#include "holdfast/fibers/fibers.hpp"

namespace holdfast::test {
namespace {

// `count` fibers wait for `mutex`, which the caller has; their numbers go into `order`. With one thread.
void start_waiters(fiber_group &group, fibers::mutex &mutex, std::vector<int> &order, int count) {
    int waiting = 0;
    for (int i = 0; i < count; i++)
        group.start([&mutex, &order, &waiting, i] {
            waiting++;
            std::lock_guard held(mutex);
            order.push_back(i);
        });
    while (waiting < count)
        boost::this_fiber::yield();
}

template <class Algorithm>
std::vector<int> order_of_unlock() {
    std::vector<int> order;
    on_threads<Algorithm>(1, [&] {
        fibers::mutex mutex;
        fiber_group owner, waiters;
        owner.start([&] {
            mutex.lock();
            start_waiters(waiters, mutex, order, 4);
            mutex.unlock();
            order.push_back(-1);
        });
        owner.wait();
        waiters.wait();
    });
    return order;
}

TEST(Exchange, NextOwnersRunBeforeTheUnlocker) {
    std::vector<int> exchanged{0, 1, 2, 3, -1};
    EXPECT_EQ(order_of_unlock<ces<shared_work>>(), exchanged);
    EXPECT_EQ(order_of_unlock<ces<round_robin>>(), exchanged);
    std::vector<int> queued{-1, 0, 1, 2, 3};
    EXPECT_EQ(order_of_unlock<shared_work>(), queued);
    EXPECT_EQ(order_of_unlock<round_robin>(), queued);
}

TEST(Exchange, NextOwnersRunBeforeTheUnlockerWhereFibersAreStolen) {
    in_child([] { EXPECT_EQ(order_of_unlock<ces<work_stealing>>(), (std::vector<int>{0, 1, 2, 3, -1})); });
}

// Two fibers would give their thread to each other for ever.
template <class Algorithm>
void others_get_a_turn() {
    on_threads<Algorithm>(1, [] {
        fibers::mutex mutex;
        fiber_group group;
        bool over = false;
        for (int i = 0; i < 3; i++)
            group.start([&] {
                while (!over) {
                    std::lock_guard held(mutex);
                    boost::this_fiber::yield(); // so that the others wait
                    mutex.unlock();
                    mutex.lock();
                }
            });
        auto exchange_only = [&] {
            while (!over) {
                mutex.lock();
                mutex.unlock();
            }
        };
        group.start(exchange_only);
        group.start([&] {
            for (int i = 0; i < 20; i++)
                boost::this_fiber::yield();
            over = true;
        });
        group.wait();
    });
}
TEST(Exchange, OthersGetATurn) {
    others_get_a_turn<ces<shared_work>>();
    others_get_a_turn<ces<round_robin>>();
}

// More hand-overs than a chain may have, without a fiber that waits for anything else.
TEST(Exchange, ChainEnds) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fiber_group group, stranger;
        constexpr int fibers = 4 * int(fibers::detail::chain_max);
        int sections = 0, seen = -1;
        group.start([&] {
            mutex.lock();
            std::vector<int> order;
            int waiting = 0;
            for (int i = 0; i < fibers; i++)
                group.start([&] {
                    waiting++;
                    std::lock_guard held(mutex);
                    sections++;
                });
            while (waiting < fibers)
                boost::this_fiber::yield();
            stranger.start([&] { seen = sections; }); // ready, before the chain begins
            mutex.unlock();
        });
        group.wait();
        stranger.wait();
        EXPECT_EQ(sections, fibers);
        EXPECT_LT(seen, int(fibers::detail::chain_max));
    });
}

TEST(Exchange, WhileAnExceptionIsHandledTheUnlockerStays) {
    std::atomic<bool> over = false;
    auto wait_awake = [&over] { // Boost wakes no thread for a fiber that another one makes ready
        while (!over)
            boost::this_fiber::yield();
    };
    auto test = [&] {
        fiber_group owner;
        owner.start([&] {
            // One for each round: a fiber that had to wait in the handler could go on on another thread, where the
            // runtime knows of no exception.
            std::array<fibers::mutex, 20> mutexes;
            fiber_group inner;
            try {
                throw std::runtime_error("once");
            } catch (const std::runtime_error &) {
                pid_t before = gettid(); // a compiler takes pthread_self() for a constant of the function
                for (fibers::mutex &mutex : mutexes) {
                    mutex.lock();
                    std::atomic<bool> asked = false;
                    inner.start([&] {
                        asked = true;
                        std::lock_guard held(mutex);
                    });
                    EXPECT_TRUE(comes_true([&] { return asked.load(); }));
                    mutex.unlock();
                    EXPECT_EQ(gettid(), before);
                }
                EXPECT_THROW(throw, std::runtime_error);
            }
            inner.wait();
            over = true;
        });
        wait_awake();
        owner.wait();
    };
    on_threads<ces<shared_work>>(2, test, [&](unsigned number) {
        if (number > 0)
            wait_awake();
    });
}

// A guard's destructor unlocks while the exception is on its way.
TEST(Exchange, WhileAnExceptionIsOnItsWayTheUnlockerStays) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fiber_group owner, waiters;
        std::vector<int> order;
        owner.start([&] {
            try {
                std::lock_guard held(mutex);
                start_waiters(waiters, mutex, order, 2);
                throw std::runtime_error("once");
            } catch (const std::runtime_error &error) {
                EXPECT_EQ(order.size(), 0u);
                EXPECT_STREQ(error.what(), "once");
            }
        });
        owner.wait();
        waiters.wait();
        EXPECT_EQ(order, (std::vector<int>{0, 1}));
    });
}

TEST(Exchange, FirstFiberOfAThreadIsNotExchanged) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fiber_group waiters;
        std::vector<int> order;
        mutex.lock();
        start_waiters(waiters, mutex, order, 3);
        mutex.unlock();
        EXPECT_EQ(order.size(), 0u);
        waiters.wait();
        EXPECT_EQ(order.size(), 3u);
    });
}

// Fibers of an algorithm that keeps them stay on their threads. By turns, a fiber of one thread unlocks while one of
// the other waits: it is there that it could be exchanged.
TEST(Exchange, FibersOfRoundRobinStay) {
    fibers::mutex mutex;
    std::atomic<int> inside = -1, moved = 0;
    constexpr int rounds = 100;
    on_threads<ces<round_robin>>(
        2, [] {},
        [&](unsigned number) {
            fiber_group group;
            group.start([&] {
                pid_t own = gettid();
                for (int round = int(number); round < rounds; round += 2) {
                    EXPECT_TRUE(comes_true([&] { return inside == round - 1 || moved; })); // the other has it
                    if (moved)
                        return; // the other may be on this thread, which then can't wait for it
                    mutex.lock();
                    moved += own != gettid();
                    inside = round;
                    if (round + 1 < rounds)
                        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // the other comes, and waits
                    mutex.unlock();
                    moved += own != gettid();
                }
            });
            group.wait();
        });
    EXPECT_EQ(moved, 0);
}

// A thread that runs nothing of ours has the mutex, and a fiber of the group waits, while the group's thread sleeps.
template <class Algorithm>
void foreign_thread_unlocks() {
    for (int round = 0; round < 50; round++) {
        fibers::mutex mutex;
        std::atomic<bool> waits = false, locked = false;
        std::thread foreign([&] {
            mutex.lock();
            locked = true;
            comes_true([&] { return waits.load(); });
            std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
            mutex.unlock();
        });
        comes_true([&] { return locked.load(); });
        on_threads<Algorithm>(1, [&] {
            fiber_group group;
            group.start([&] {
                waits = true;
                std::lock_guard held(mutex);
            });
            group.wait();
        });
        foreign.join();
    }
}
TEST(Exchange, ForeignThreadUnlocks) {
    foreign_thread_unlocks<ces<shared_work>>();
    foreign_thread_unlocks<ces<round_robin>>();
    foreign_thread_unlocks<shared_work>();
}
TEST(Exchange, ForeignThreadUnlocksForFibersThatAreStolen) {
    in_child([] {
        fibers::mutex mutex;
        std::atomic<int> locked = 0, waits = 0, entered = 0;
        constexpr int rounds = 50;
        std::thread foreign([&] {
            for (int round = 1; round <= rounds; round++) {
                mutex.lock();
                locked = round;
                EXPECT_TRUE(comes_true([&] { return waits == round; }));
                std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
                mutex.unlock();
                EXPECT_TRUE(comes_true([&] { return entered == round; }));
            }
        });
        on_threads<ces<work_stealing>>(2, [&] { // of one thread, it never sleeps in Boost 1.74
            fiber_group group;
            group.start([&] {
                for (int round = 1; round <= rounds; round++) {
                    EXPECT_TRUE(comes_true([&] { return locked == round; }));
                    waits = round;
                    std::lock_guard held(mutex);
                    entered = round;
                }
            });
            group.wait();
        });
        foreign.join();
    });
}

// The algorithm can be replaced, as use_scheduling_algorithm() allows.
TEST(Exchange, AlgorithmIsReplaced) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fiber_group group;
        auto enter = [&] {
            for (int i = 0; i < 3; i++) {
                std::lock_guard held(mutex);
                boost::this_fiber::yield();
            }
        };
        group.start(enter);
        group.start(enter);
        group.wait();
        use<round_robin>(1);
        group.start(enter);
        group.start(enter);
        group.wait();
        use<ces<round_robin>>(1);
        group.start(enter);
        group.start(enter);
        group.wait();
    });
}

} // namespace
} // namespace holdfast::test
