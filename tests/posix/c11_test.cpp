// SPDX-License-Identifier: MIT OR Apache-2.0
// C11's mtx_* and cnd_*: what they return, and that they are the same objects as pthread's.
//
// Shown able to fail: with told_as_c11() in src/preload/c11.c returning thrd_error for EBUSY, and for ETIMEDOUT; with
// mtx_recursive ignored there.
#include <gtest/gtest.h>
#include <pthread.h>
#include <threads.h>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int plain_types[] = {mtx_plain, mtx_timed, 64}; // of an unknown type: a plain one
constexpr int recursive_types[] = {mtx_plain | mtx_recursive, mtx_timed | mtx_recursive};

class made_mtx {
public:
    explicit made_mtx(int type) { EXPECT_EQ(mtx_init(&mutex, type), thrd_success); }
    made_mtx(const made_mtx &) = delete;
    made_mtx &operator=(const made_mtx &) = delete;
    ~made_mtx() { mtx_destroy(&mutex); }

    mtx_t mutex;
};

class made_cnd {
public:
    made_cnd() { EXPECT_EQ(cnd_init(&condition), thrd_success); }
    made_cnd(const made_cnd &) = delete;
    made_cnd &operator=(const made_cnd &) = delete;
    ~made_cnd() { cnd_destroy(&condition); }

    cnd_t condition;
};

// What another thread is told that tries, and gives back what it gets.
int told_to_another(mtx_t *mutex) {
    int told = -1;
    in_thread([&] {
        told = mtx_trylock(mutex);
        if (told == thrd_success)
            mtx_unlock(mutex);
    });
    return told;
}

TEST(c11_mutex, ExcludesAndIsFreeAfterUnlock) {
    for (int type : plain_types) {
        made_mtx made(type);
        ASSERT_EQ(mtx_lock(&made.mutex), thrd_success);
        EXPECT_EQ(told_to_another(&made.mutex), thrd_busy);
        EXPECT_EQ(mtx_trylock(&made.mutex), thrd_busy);
        ASSERT_EQ(mtx_unlock(&made.mutex), thrd_success);
        EXPECT_EQ(told_to_another(&made.mutex), thrd_success);
    }
}

TEST(c11_mutex, ARecursiveOneIsFreeAfterAsManyUnlocks) {
    for (int type : recursive_types) {
        made_mtx made(type);
        timespec soon = from_now(CLOCK_REALTIME, 60'000);
        ASSERT_EQ(mtx_lock(&made.mutex), thrd_success);
        ASSERT_EQ(mtx_trylock(&made.mutex), thrd_success);
        ASSERT_EQ(mtx_timedlock(&made.mutex, &soon), thrd_success);
        for (int levels = 3; levels > 0; levels--) {
            EXPECT_EQ(told_to_another(&made.mutex), thrd_busy);
            ASSERT_EQ(mtx_unlock(&made.mutex), thrd_success);
        }
        EXPECT_EQ(told_to_another(&made.mutex), thrd_success);
    }
}

TEST(c11_mutex, TimedLockGivesUpAtItsTimeAndNotBefore) {
    made_mtx made(mtx_timed);
    ASSERT_EQ(mtx_lock(&made.mutex), thrd_success);
    in_thread([&] {
        timespec soon = from_now(CLOCK_REALTIME, 20);
        EXPECT_EQ(mtx_timedlock(&made.mutex, &soon), thrd_timedout);
        EXPECT_TRUE(has_passed(CLOCK_REALTIME, soon));
        EXPECT_EQ(mtx_timedlock(&made.mutex, &long_ago), thrd_timedout);
        EXPECT_EQ(mtx_timedlock(&made.mutex, &impossible), thrd_error);
    });
    mtx_unlock(&made.mutex);
}

TEST(c11_mutex, CountsRight) {
    for (int type : {int{mtx_plain}, mtx_timed | mtx_recursive}) {
        made_mtx made(type);
        long first = 0, second = 0;
        {
            team all(4, [&](int) {
                for (int round = 0; round < 5000; round++) {
                    mtx_lock(&made.mutex);
                    EXPECT_EQ(first++, second++);
                    mtx_unlock(&made.mutex);
                }
            });
        }
        EXPECT_EQ(first, 4 * 5000);
    }
}

TEST(c11_mutex, IsAPthreadMutex) {
    made_mtx made(mtx_plain);
    auto *mutex = reinterpret_cast<pthread_mutex_t *>(&made.mutex);
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(told_to_another(&made.mutex), thrd_busy);
    ASSERT_EQ(mtx_unlock(&made.mutex), thrd_success);
    EXPECT_EQ(told_to_another(&made.mutex), thrd_success);
}

TEST(c11_condition, OneSignalForEachTurn) {
    constexpr int turns = 2000;
    made_mtx made(mtx_plain);
    made_cnd changed;
    int whose = 0;
    auto play = [&](int me) {
        mtx_lock(&made.mutex);
        for (int turn = 0; turn < turns; turn++) {
            while (whose != me)
                EXPECT_EQ(cnd_wait(&changed.condition, &made.mutex), thrd_success);
            whose = 1 - me;
            EXPECT_EQ(cnd_signal(&changed.condition), thrd_success);
        }
        mtx_unlock(&made.mutex);
    };
    team(2, play).join();
    EXPECT_EQ(whose, 0);
}

TEST(c11_condition, ABroadcastReachesAll) {
    made_mtx made(mtx_plain);
    made_cnd opened;
    bool open = false;
    int through = 0;
    team all(6, [&](int) {
        mtx_lock(&made.mutex);
        while (!open)
            cnd_wait(&opened.condition, &made.mutex);
        through++;
        mtx_unlock(&made.mutex);
    });
    a_short_while();
    mtx_lock(&made.mutex);
    open = true;
    EXPECT_EQ(cnd_broadcast(&opened.condition), thrd_success);
    mtx_unlock(&made.mutex);
    all.join();
    EXPECT_EQ(through, 6);
}

TEST(c11_condition, ATimedWaitEndsAtItsTimeWithTheMutex) {
    made_mtx made(mtx_plain);
    made_cnd never;
    mtx_lock(&made.mutex);
    timespec soon = from_now(CLOCK_REALTIME, 20);
    int told = thrd_success;
    while (told == thrd_success) // woken for no reason
        told = cnd_timedwait(&never.condition, &made.mutex, &soon);
    EXPECT_EQ(told, thrd_timedout);
    EXPECT_TRUE(has_passed(CLOCK_REALTIME, soon));
    EXPECT_EQ(told_to_another(&made.mutex), thrd_busy);
    mtx_unlock(&made.mutex);
}

} // namespace
} // namespace holdfast::test
