// SPDX-License-Identifier: MIT OR Apache-2.0
// What Boost.Fiber's own condition variables are tested for.
// Shown able to fail: a waiter that is linked after it unlocks (hangs); notify_one() that wakes all; wait_until() that
// says no_timeout always.
#include <gtest/gtest.h>

#include "fiber/scheduling.hpp"
#include "holdfast/fibers/fibers.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using fibers::cv_status;

template <class Condition, class Algorithm>
struct variant {
    using condition = Condition;
    using algorithm = Algorithm;
};

template <class Variant>
class ConditionVariable : public testing::Test {
protected:
    fibers::mutex mutex;
    typename Variant::condition changed;
    fiber_group group;
    int waiting = 0, notified = 0;

    void start_waiter() {
        group.start([this] {
            std::unique_lock held(mutex);
            waiting++;
            changed.wait(held);
            EXPECT_TRUE(held.owns_lock());
            notified++;
        });
    }
    void until_waiting(int count) {
        while (waiting < count)
            boost::this_fiber::yield();
        std::lock_guard held(mutex); // they have unlocked it
    }
    void until_notified(int count) {
        while (notified < count)
            boost::this_fiber::yield();
    }
    template <class Test>
    void run(Test test) {
        on_threads<typename Variant::algorithm>(1, [&] {
            test();
            group.wait();
        });
    }
};
using all = testing::Types<
    variant<fibers::condition_variable, round_robin>, variant<fibers::condition_variable, ces<round_robin>>,
    variant<fibers::condition_variable, ces<shared_work>>, variant<fibers::condition_variable_any, round_robin>,
    variant<fibers::condition_variable_any, ces<round_robin>>,
    variant<fibers::condition_variable_any, ces<shared_work>>>;
TYPED_TEST_SUITE(ConditionVariable, all);

TYPED_TEST(ConditionVariable, NobodyWaits) {
    this->run([&] {
        this->changed.notify_one();
        this->changed.notify_all();
    });
}

TYPED_TEST(ConditionVariable, NotifyOneWakesOne) {
    this->run([&] {
        this->start_waiter();
        this->start_waiter();
        this->until_waiting(2);
        EXPECT_EQ(this->notified, 0);
        this->changed.notify_one();
        this->until_notified(1);
        for (int i = 0; i < 10; i++)
            boost::this_fiber::yield();
        EXPECT_EQ(this->notified, 1);
        this->changed.notify_one();
        this->until_notified(2);
    });
}

TYPED_TEST(ConditionVariable, NotifyAllWakesAll) {
    this->run([&] {
        for (int i = 0; i < 3; i++)
            this->start_waiter();
        this->until_waiting(3);
        this->changed.notify_all();
        this->until_notified(3);
        this->start_waiter(); // and is of use again
        this->until_waiting(4);
        this->changed.notify_all();
    });
}

TYPED_TEST(ConditionVariable, NotifiedWithTheMutexHeld) {
    this->run([&] {
        this->start_waiter();
        this->until_waiting(1);
        this->mutex.lock();
        this->changed.notify_one();
        for (int i = 0; i < 10; i++)
            boost::this_fiber::yield();
        EXPECT_EQ(this->notified, 0);
        this->mutex.unlock();
    });
}

// Fibers alternate; no notification may be lost.
TYPED_TEST(ConditionVariable, PingPong) {
    this->run([&] {
        int turn = 0;
        auto play = [&](int own) {
            for (int round = 0; round < 100; round++) {
                std::unique_lock held(this->mutex);
                this->changed.wait(held, [&] { return turn % 2 == own; });
                turn++;
                this->changed.notify_one();
            }
        };
        this->group.start([&] { play(0); });
        this->group.start([&] { play(1); });
        this->group.wait();
        EXPECT_EQ(turn, 200);
    });
}

TYPED_TEST(ConditionVariable, TimeIsOver) {
    this->run([&] {
        std::unique_lock held(this->mutex);
        auto began = std::chrono::steady_clock::now();
        EXPECT_EQ(this->changed.wait_for(held, 10ms), cv_status::timeout);
        EXPECT_GE(std::chrono::steady_clock::now() - began, 10ms);
        EXPECT_TRUE(held.owns_lock());
        EXPECT_EQ(this->changed.wait_until(held, std::chrono::system_clock::now() + 10ms), cv_status::timeout);
        EXPECT_FALSE(this->changed.wait_for(held, 10ms, [] { return false; }));
        int asked = 0;
        EXPECT_TRUE(this->changed.wait_until(held, std::chrono::steady_clock::now(), [&] { return asked++ > 0; }));
        EXPECT_TRUE(this->changed.wait_for(held, -1s, [] { return true; }));
    });
}

TYPED_TEST(ConditionVariable, IsNotifiedInTime) {
    this->run([&] {
        bool told = false;
        auto patience = std::chrono::milliseconds(patience_ms);
        this->group.start([&] {
            std::unique_lock held(this->mutex);
            this->waiting++;
            EXPECT_EQ(this->changed.wait_for(held, patience), cv_status::no_timeout);
            this->waiting++;
            EXPECT_TRUE(
                this->changed.wait_until(held, std::chrono::steady_clock::now() + patience, [&] { return told; }));
        });
        this->until_waiting(1);
        this->changed.notify_one();
        this->until_waiting(2);
        this->mutex.lock();
        told = true;
        this->mutex.unlock();
        this->changed.notify_all();
        this->group.wait();
    });
}

// A lock of the caller's own: condition_variable_any holds nothing of its own while it calls it.
struct yielding_lock {
    fibers::mutex &mutex;
    bool throws = false;
    void lock() { mutex.lock(); }
    void unlock() {
        if (throws)
            throw 1;
        mutex.unlock();
        for (int i = 0; i < 3; i++)
            boost::this_fiber::yield();
    }
};

TEST(ConditionVariableAny, CallersLockMaySwitchFibers) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fibers::condition_variable_any changed;
        fiber_group group;
        bool told = false;
        for (int i = 0; i < 3; i++)
            group.start([&] {
                yielding_lock lock{mutex};
                lock.lock();
                while (!told)
                    changed.wait(lock);
                mutex.unlock();
            });
        boost::this_fiber::yield();
        mutex.lock();
        told = true;
        mutex.unlock();
        changed.notify_all();
        group.wait();
    });
}

TEST(ConditionVariableAny, ExceptionOfUnlockEndsTheWait) {
    on_threads<ces<shared_work>>(1, [] {
        fibers::mutex mutex;
        fibers::condition_variable_any changed;
        yielding_lock lock{mutex, true};
        lock.lock();
        EXPECT_THROW(changed.wait(lock), int);
        EXPECT_THROW(changed.wait_for(lock, 1s), int);
        changed.notify_one(); // nobody is linked
        mutex.unlock();
    });
}

} // namespace
} // namespace holdfast::test
