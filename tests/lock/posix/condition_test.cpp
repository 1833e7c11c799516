// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables, step by step: one thread plays all waiters, whose sleeps it ends as their permits come.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
#include "lock/posix/condition.h"
#include "park/deadline.h"
#include "park/word_lock.h"
#include "thread/thread_record.h"
}

namespace {

struct condition : testing::Test {
    hf_condition shared{};
    std::vector<hf_waiter> waiters{16};

    void SetUp() override {
        for (hf_waiter &waiter : waiters)
            hf_condition_join(hf_waiter_begin(&waiter, &shared, nullptr));
    }

    // Their nodes are about to go.
    void TearDown() override {
        for (hf_waiter &waiter : waiters) {
            if (waiter.state == HF_WAITER_WAITING)
                hf_waiter_leave(&waiter);
        }
    }

    void signal() { hf_waiter_give_permit(hf_condition_choose_one(&shared)); }

    static bool has_its_permit(hf_waiter &waiter) {
        hf_deadline soon = {CLOCK_MONOTONIC, {}};
        clock_gettime(CLOCK_MONOTONIC, &soon.at);
        return hf_condition_sleep(&waiter, &soon) == 0;
    }

    int permits_had() {
        int had = 0;
        for (hf_waiter &waiter : waiters)
            had += has_its_permit(waiter);
        return had;
    }
};

// Shown able to fail: hf_condition_choose_one that takes the last waiter.
TEST_F(condition, SignalsGoToTheFirstComers) {
    signal();
    signal();
    EXPECT_TRUE(has_its_permit(waiters[0]));
    EXPECT_TRUE(has_its_permit(waiters[1]));
    EXPECT_FALSE(has_its_permit(waiters[2]));
}

TEST_F(condition, AllAreChosenOnce) {
    size_t chosen = 0;
    for (hf_waiter *each = hf_condition_choose_all(&shared); each; each = each->next_chosen, chosen++)
        EXPECT_EQ(each->state, HF_WAITER_CHOSEN);
    EXPECT_EQ(chosen, waiters.size());
    EXPECT_FALSE(hf_condition_may_have_waiters(&shared));
    EXPECT_EQ(hf_condition_choose_all(&shared), nullptr);
    EXPECT_EQ(hf_condition_choose_one(&shared), nullptr);
}

TEST_F(condition, AWaiterMayLeaveFromAnywhere) {
    for (size_t leaver : {0u, 7u, 15u})
        EXPECT_TRUE(hf_waiter_leave(&waiters[leaver]));
    for (size_t i = 0; i < waiters.size() - 3; i++)
        signal();
    EXPECT_EQ(permits_had(), 13);
    EXPECT_EQ(hf_condition_choose_one(&shared), nullptr);
}

// Shown able to fail: hf_waiter_leave_cancelled without choose_another (condition.C3).
TEST_F(condition, ACancelledWaiterPassesItsSignalOn) {
    signal();
    hf_waiter_leave_cancelled(&waiters[0]);
    EXPECT_TRUE(has_its_permit(waiters[1]));
}

// All other waiters have been chosen, so the memory may be used otherwise (condition.C4). Shown able to fail:
// choose_another that looks into the condition variable.
TEST_F(condition, ACancelledWaiterDoesNotTouchWhatMayBeGone) {
    signal();
    for (hf_waiter *each = hf_condition_choose_all(&shared); each; each = each->next_chosen)
        ;
    shared.waiters.first = reinterpret_cast<hf_waiter *>(64);
    shared.waiters.last = 64;
    hf_waiter_leave_cancelled(&waiters[0]);
    EXPECT_EQ(shared.waiters.first, reinterpret_cast<hf_waiter *>(64));
}

// Shown able to fail: a waiter that goes without unlinking itself.
TEST_F(condition, ACancelledWaiterThatWasNotSignalledJustGoes) {
    hf_waiter_leave_cancelled(&waiters[0]);
    signal();
    EXPECT_TRUE(has_its_permit(waiters[1]));
    EXPECT_EQ(permits_had(), 1); // that one, which stays
}

// Shown able to fail: every second wake of use; a wake by a signal counted, too; the last use not halving the number.
TEST_F(condition, KnowsWaitersThatAreWokenInVain) {
    auto broadcast = [this](unsigned locks_used) {
        for (hf_waiter *each = hf_condition_choose_all(&shared), *next; each; each = next) {
            next = each->next_chosen;
            hf_waiter_give_permit(each);
            EXPECT_TRUE(has_its_permit(*each));
            hf_counters(hf_self())->acquisitions += 1 + locks_used; // the mutex again, and others
            hf_condition_join(hf_waiter_begin(each, &shared, nullptr));
        }
    };
    EXPECT_FALSE(hf_condition_wakes_in_vain(&shared));
    broadcast(0);
    EXPECT_TRUE(hf_condition_wakes_in_vain(&shared));
    broadcast(1);
    EXPECT_FALSE(hf_condition_wakes_in_vain(&shared)) << "they have used another lock, or the mutex again";
}

TEST_F(condition, SignalsAreNotInVain) {
    for (int i = 0; i < 100; i++) {
        hf_waiter *chosen = hf_condition_choose_one(&shared);
        hf_waiter_give_permit(chosen);
        EXPECT_TRUE(has_its_permit(*chosen));
        hf_condition_join(hf_waiter_begin(chosen, &shared, nullptr));
    }
    EXPECT_FALSE(hf_condition_wakes_in_vain(&shared));
}

bool is_zero(const hf_condition &it) {
    return !it.waiters.first && it.waiters.last == 0;
}

// Shown able to fail: a list that keeps its last waiter when that one leaves.
TEST_F(condition, IsZeroWithoutWaiters) {
    EXPECT_FALSE(is_zero(shared));
    for (hf_waiter &waiter : waiters)
        hf_waiter_leave(&waiter);
    EXPECT_TRUE(is_zero(shared));
}

// In a child, since there is no way back. Shown able to fail: permits not given; a join that does not look.
TEST_F(condition, ClosingWakesAllAndRefusesNewWaiters) {
    pid_t child = fork();
    if (child == 0) {
        hf_condition one{}, another{};
        hf_waiter own[3];
        if (!hf_condition_join(hf_waiter_begin(&own[0], &one, nullptr)) ||
            !hf_condition_join(hf_waiter_begin(&own[1], &another, nullptr)) ||
            !hf_condition_join(hf_waiter_begin(&own[2], &one, nullptr)))
            _exit(1);
        hf_conditions_close();
        for (hf_waiter &waiter : own)
            if (!has_its_permit(waiter))
                _exit(2);
        if (!is_zero(one) || !is_zero(another))
            _exit(3);
        _exit(hf_condition_join(hf_waiter_begin(&own[0], &one, nullptr)) || !is_zero(one) ? 4 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(condition, OwedTurnsAreGivenTogether) {
    hf_permits_owed owed = 0;
    hf_permits_owe(&owed, hf_condition_choose_one(&shared));
    hf_permits_owe(&owed, hf_condition_choose_one(&shared));
    hf_permits_owe(&owed, hf_condition_choose_one(&shared));
    EXPECT_EQ(permits_had(), 0);
    hf_permits_give_all(owed);
    EXPECT_EQ(permits_had(), 3);
}

// condition.C8, with sleeps that end early, by signals: a permit that is given to a sleeper that is not there any more
// is not missed. Shown able to fail, by its never ending: no wake of those that were moved, and a wake of one of them
// alone.
TEST(condition_together, AllThatSleepWakeUpAndNoneIsMissed) {
    struct sigaction action {};
    action.sa_handler = [](int) {}; // and no SA_RESTART
    sigaction(SIGUSR1, &action, nullptr);
    constexpr int waiters = 4, rounds = 300;
    hf_condition shared{};
    std::atomic<int> joined{0}, ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; i++)
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; round++) {
                hf_waiter waiter;
                hf_condition_join(hf_waiter_begin(&waiter, &shared, nullptr));
                joined++;
                EXPECT_EQ(hf_condition_sleep(&waiter, nullptr), 0);
                ended++;
                while (ended < (round + 1) * waiters)
                    std::this_thread::yield();
            }
        });
    for (int round = 0; round < rounds; round++) {
        while (joined < (round + 1) * waiters)
            std::this_thread::yield();
        for (std::thread &each : threads)
            pthread_kill(each.native_handle(), SIGUSR1);
        hf_waiters_give_permits(hf_condition_choose_all(&shared));
        while (ended < (round + 1) * waiters)
            std::this_thread::yield();
    }
    for (std::thread &each : threads)
        each.join();
}

// Shown able to fail: hf_waiter_move_to without the move (nobody is found), or without its announcement.
TEST(condition_move, AMovedWaiterSleepsOnAtTheMutex) {
    hf_condition shared{};
    int moved = 0;
    for (int round = 0; round < 50 || (moved == 0 && round < 1000); round++) {
        hf_waiter waiter{};
        uint32_t word = HF_WORD_HELD;
        hf_condition_join(hf_waiter_begin(&waiter, &shared, nullptr));
        std::thread sleeper([&] { EXPECT_EQ(hf_condition_sleep(&waiter, nullptr), 0); });
        // Not always enough for it to sleep; then nobody is moved, and it has its permit all the same.
        usleep(round < 50 ? 1000 : 20'000);
        hf_waiter *chosen = hf_condition_choose_all(&shared);
        ASSERT_EQ(chosen, &waiter);
        hf_waiter_move_to(&word, chosen);
        EXPECT_EQ(word, HF_WORD_HELD_WITH_SLEEPERS);
        EXPECT_EQ(hf_sleepers_at(&word)->state, 1u) << "counted there (S1)";
        hf_sleeper_goes(&word);
        moved += syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) == 1;
        sleeper.join();
        EXPECT_TRUE(waiter.moved);
    }
    EXPECT_GT(moved, 0);
}

TEST_F(condition, AForkedChildHasNoneOfTheWaitersAndOwesThemNothing) {
    hf_permits_owed owed = 0;
    hf_permits_owe(&owed, hf_condition_choose_one(&shared));
    pid_t child = fork();
    if (child == 0) {
        hf_permits_give_all(owed);
        hf_waiter own;
        hf_condition_join(hf_waiter_begin(&own, &shared, nullptr));
        signal();
        hf_permits_owed own_debt = owed; // a mutex that was locked at the fork
        hf_condition_join(hf_waiter_begin(&own, &shared, nullptr));
        hf_permits_owe(&own_debt, hf_condition_choose_one(&shared));
        hf_permits_give_all(own_debt);
        _exit(permits_had() == 0 && has_its_permit(own) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

// Shown able to fail: with the process's depth told by the four lower bits alone, the sixteenth descendant gives
// permits.
TEST_F(condition, ADescendantOwesNothingHoweverFarDown) {
    constexpr int far = 40;
    hf_permits_owed owed = 0;
    hf_permits_owe(&owed, hf_condition_choose_one(&shared));
    for (int depth = 1; depth <= far; depth++) {
        pid_t child = fork();
        if (child > 0) {
            int status = -1;
            waitpid(child, &status, 0);
            if (depth > 1)
                _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
            EXPECT_EQ(status, 0);
            break;
        }
        hf_permits_give_all(owed);
        hf_permits_owed own = owed; // begins anew: what it owes is its own alone
        hf_waiter own_waiter{};
        own_waiter.state = HF_WAITER_CHOSEN;
        hf_permits_owe(&own, &own_waiter);
        if (waiters[0].permit == HF_PERMIT_GIVEN || own_waiter.next_chosen)
            _exit(1);
        if (depth == far)
            _exit(0);
    }
    hf_permits_give_all(owed);
    EXPECT_EQ(permits_had(), 1);
}

// A handler of the program's that runs in forked children before Holdfast's own: as registered by the constructor of a
// library that the program is linked with.
bool early_handler_waits = false;

void wait_with_each_of_many() {
    if (!early_handler_waits)
        return;
    alarm(120);
    static std::vector<hf_condition> others(32768); // some under each of the lists' locks
    hf_waiter own;
    for (hf_condition &other : others) {
        hf_condition_join(hf_waiter_begin(&own, &other, nullptr));
        if (!hf_waiter_leave(&own))
            _exit(1);
    }
    alarm(0);
}

__attribute__((constructor(101))) void register_early_handler() {
    pthread_atfork(nullptr, nullptr, wait_with_each_of_many);
}

// Shown able to fail: without MADV_WIPEONFORK a lock that another thread had at the fork is never given back.
TEST(condition_fork, ListsAreFreeInTheFirstHandlerOfAChild) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> team;
    for (int i = 0; i < 3; i++)
        team.emplace_back([&stop] {
            hf_condition condition{};
            hf_waiter own;
            while (!stop) {
                hf_condition_join(hf_waiter_begin(&own, &condition, nullptr));
                hf_waiter_leave(&own);
            }
        });
    early_handler_waits = true;
    for (int round = 0; round < 100; round++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status = -1;
        waitpid(child, &status, 0);
        ASSERT_EQ(status, 0) << "round " << round;
    }
    early_handler_waits = false;
    stop = true;
    for (auto &thread : team)
        thread.join();
}

} // namespace
