// SPDX-License-Identifier: MIT OR Apache-2.0
// Crowds of which a broadcast finds one its permit, and the others wait again: Holdfast wakes them in another way than
// those that all have use of it (condition.C5, src/lock/posix/condition.h).
//
// Shown able to fail: a moved waiter that takes the mutex as HELD (all), or so only when it was cancelled
// (TheOthersAreServedThoughSomeAreCancelled); a move that does not say HELD_WITH_SLEEPERS; a broadcast to one that is
// owed as a crowd's is (OneThatWaitsAloneIsWokenBeforeTheMutexIsFree).
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <string>
#include <unistd.h>

#include "deadline.hpp"
#include "held_up.hpp"
#include "made_mutex.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int members = 5; // few: a lock that collapses must get through too

class crowd : public testing::TestWithParam<mutex_kind> {
public:
    ~crowd() override { EXPECT_EQ(pthread_cond_destroy(&cond), 0); }

    // Waits until it gets a permit.
    void get_permit() {
        lock();
        pthread_cleanup_push(leave, this);
        waiting++;
        for (looked++; permits == 0; looked++)
            EXPECT_EQ(pthread_cond_wait(&cond, mutex), 0);
        permits--;
        served++;
        pthread_cleanup_pop(1);
    }
    static void leave(void *self) {
        auto *own = static_cast<crowd *>(self);
        own->waiting--;
        own->unlock();
    }
    // Looks now and then, until it is told to go, and never takes a permit.
    void look(const std::atomic<bool> &may_go) {
        lock();
        for (int turn = 0; !may_go; turn++) {
            timespec at = from_now(CLOCK_MONOTONIC, 1 + turn % 3);
            int told = pthread_cond_clockwait(&cond, mutex, CLOCK_MONOTONIC, &at);
            EXPECT_TRUE(told == 0 || told == ETIMEDOUT) << told;
        }
        unlock();
    }

    void lock() { EXPECT_EQ(pthread_mutex_lock(mutex), 0); }
    void unlock() { EXPECT_EQ(pthread_mutex_unlock(mutex), 0); }
    int locked(int crowd::*field) {
        lock();
        int value = this->*field;
        unlock();
        return value;
    }
    void until(int crowd::*field, int value) {
        EXPECT_TRUE(eventually([&] { return locked(field) >= value; })) << "somebody was not woken";
    }
    // So often that it is known for a crowd that wakes in vain. Since who is counted holds the mutex until it waits,
    // all of them wait afterwards.
    void come_in_vain(int how_many = members) {
        until(&crowd::waiting, how_many);
        for (int times = 0; times < 2; times++) {
            lock();
            int before = looked;
            EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
            unlock();
            until(&crowd::looked, before + how_many);
        }
    }
    void give(int how_many) {
        lock();
        permits += how_many;
        EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
        unlock();
    }

    made_mutex made{GetParam()};
    pthread_mutex_t *mutex = &made.mutex;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int waiting = 0, looked = 0, permits = 0, served = 0; // under the mutex
};

INSTANTIATE_TEST_SUITE_P(crowd, crowd, testing::ValuesIn(every_mutex_kind),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(crowd, EachPermitIsFound) {
    team all(members, [this](int) { get_permit(); });
    come_in_vain();
    for (int permit = 1; permit <= members; permit++) {
        give(1);
        until(&crowd::served, permit);
    }
    all.join();
    EXPECT_EQ(waiting, 0);
}

TEST_P(crowd, AllAreServedByOneBroadcast) {
    team all(members, [this](int) { get_permit(); });
    come_in_vain();
    give(members);
    all.join();
    EXPECT_EQ(served, members);
}

TEST_P(crowd, TheOthersAreServedThoughSomeComeByTheirDeadlines) {
    std::atomic<bool> may_go = false;
    team impatient(2, [&](int) { look(may_go); });
    for (int round = 0; round < 3; round++) {
        served = 0;
        team all(members, [this](int) { get_permit(); });
        come_in_vain();
        give(1 + round % members);
        until(&crowd::served, 1 + round % members);
        give(members - 1 - round % members);
        until(&crowd::served, members);
    }
    may_go = true;
}

TEST_P(crowd, TheOthersAreServedThoughSomeAreCancelled) {
    for (int round = 0; round < 6; round++) {
        served = permits = 0;
        pthread_t cancelled[2];
        for (pthread_t &thread : cancelled) {
            auto body = [](void *self) -> void * {
                static_cast<crowd *>(self)->get_permit();
                return nullptr;
            };
            ASSERT_EQ(pthread_create(&thread, nullptr, body, this), 0);
        }
        team all(members, [this](int) { get_permit(); });
        come_in_vain(members + 2);
        lock();
        permits = members;
        EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
        for (pthread_t thread : cancelled)
            EXPECT_EQ(pthread_cancel(thread), 0);
        if (round % 2)
            a_short_while(); // they are on their way to the mutex
        unlock();
        for (pthread_t thread : cancelled)
            EXPECT_EQ(pthread_join(thread, nullptr), 0);
        give(2); // what they may have got
        until(&crowd::served, members);
        all.join();
    }
}

// A lock that serves strictly in turn is held up by one who stands in its queue.
bool serves_in_turn() {
    for (const char *name : {"HOLDFAST_LOCK", "HOLDFAST_CONF"}) {
        const char *text = getenv(name);
        std::string value = text ? text : "";
        if (value.find("mcs") != std::string::npos || value.find("ticket") != std::string::npos)
            return true;
    }
    return false;
}

// The system call that the thread is in, with its arguments; or "running".
std::string call_of(pid_t tid) {
    std::string line;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(tid) + "/syscall"), line);
    return line;
}

// Not only for a moment, as a stop and its end would have it.
bool has_left(pid_t tid, const std::string &call) {
    for (int looks = 0; looks < 20; looks++) {
        if (call_of(tid) == call)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

TEST_P(crowd, OneThatWaitsAloneIsWokenBeforeTheMutexIsFree) {
    std::atomic<pid_t> tid = 0;
    team one(1, [&](int) {
        tid = gettid();
        get_permit();
    });
    until(&crowd::waiting, 1);
    lock();
    std::string asleep;
    EXPECT_TRUE(eventually([&] { return (asleep = call_of(tid)) != "running"; }));
    permits++;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    EXPECT_TRUE(eventually([&] { return has_left(tid, asleep); })) << "it sleeps on: " << asleep;
    unlock();
}

// As collectors of garbage hold threads up: one that waits for a broadcast, and one that waits for the mutex after it.
TEST_P(crowd, TheOthersAreServedThoughOneIsHeldUpInASignalHandler) {
    holding_up handler;
    for (bool first : {true, false}) {
        if (!first && serves_in_turn())
            continue;
        served = 0;
        team all(members, [this](int) { get_permit(); });
        come_in_vain();
        if (first)
            handler.hold_up(all.handle(0));
        lock();
        permits = members;
        EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
        if (!first) // it waits for the mutex
            handler.hold_up(all.handle(0));
        unlock();
        until(&crowd::served, members - 1);
        handler.let_go();
        all.join();
        EXPECT_EQ(served, members);
    }
}

} // namespace
} // namespace holdfast::test
