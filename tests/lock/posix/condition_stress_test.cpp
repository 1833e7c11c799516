// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables under forced preemption (preempted_team.hpp) and a hint that changes all the time: waiters poll
// for their permit, sleep for it, and give up, while others signal, and one broadcasts.
//
// Shown able to fail: a waiter that polls goes without its permit (crashes), or sleeps after it has had it (stuck); a
// permit that is given while nobody sleeps is not kept (stuck).
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "lock/every_lock.hpp"
#include "lock/mode_changes.hpp"
#include "lock/preempted_team.hpp"

extern "C" {
#include "lock/posix/condition.h"
#include "park/deadline.h"
#include "park/word_lock.h"
}

namespace holdfast::test {
namespace {

constexpr int runs = 15;

// Things that some put and others take, one by one. As preload/cond.c does it, permits are given once the lock is free.
class store {
public:
    void put() {
        lock();
        things_++;
        put_++;
        hf_waiter *chosen = hf_condition_choose_one(&not_empty_);
        unlock();
        if (chosen)
            hf_waiter_give_permit(chosen);
    }

    void put_for_all(unsigned long count) {
        hf_permits_owed owed = 0;
        lock();
        things_ += count;
        put_ += count;
        hf_waiter *chosen = hf_condition_choose_all(&not_empty_), *next = nullptr;
        for (; chosen; chosen = next) {
            next = chosen->next_chosen;
            hf_permits_owe(&owed, chosen);
        }
        unlock();
        if (owed)
            hf_permits_give_all(owed);
    }

    // Waits for one; or, with a deadline, gives up.
    void take(const hf_deadline *deadline) {
        lock();
        bool in_time = true;
        while (things_ == 0 && in_time)
            in_time = wait(deadline);
        if (things_ > 0) {
            things_--;
            taken_++;
        }
        unlock();
    }

    void expect_all_is_there() {
        lock();
        EXPECT_EQ(put_, taken_ + things_);
        EXPECT_GT(taken_, 0u);
        EXPECT_FALSE(hf_condition_may_have_waiters(&not_empty_));
        unlock();
    }

private:
    void lock() {
        if (!hf_word_trylock(&word_, HF_WORD_HELD))
            hf_word_lock_blocking(&word_, nullptr);
    }
    void unlock() { hf_word_unlock(&word_); }

    // False when the time was over before its permit came.
    bool wait(const hf_deadline *deadline) {
        hf_waiter waiter;
        hf_condition_join(hf_waiter_begin(&waiter, &not_empty_, nullptr));
        unlock();
        bool in_time = hf_condition_sleep(&waiter, deadline) == 0 || !hf_waiter_leave(&waiter);
        lock();
        return in_time;
    }

    std::uint32_t word_ = HF_WORD_FREE;
    hf_condition not_empty_{};
    unsigned long things_ = 0, put_ = 0, taken_ = 0;
};

// Puts enough for everybody until it is destroyed: so a thread that waits in the end has its permit, unless one was
// lost.
class supply {
public:
    explicit supply(store &of)
        : thread_([this, &of] {
              while (!over_) {
                  of.put_for_all(16);
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
              }
          }) {}
    supply(const supply &) = delete;
    supply &operator=(const supply &) = delete;
    ~supply() {
        over_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

TEST(condition_stress, EachWaiterHasItsTurnPollingOrAsleep) {
    mode_changes modes;
    store things;
    {
        supply enough(things);
        preempted_team(runs).run("a condition variable", [&](int member) {
            if (member < 3) {
                things.put();
            } else if (member < 6) {
                things.take(nullptr);
            } else {
                hf_deadline soon = {.clock = CLOCK_MONOTONIC, .at = from_now(CLOCK_MONOTONIC, 1)};
                things.take(&soon);
            }
        });
    }
    things.expect_all_is_there();
}

// One at a time, so that each has to wait for the other.
TEST(condition_stress, TwoWakeEachOther) {
    mode_changes modes;
    store to_and_fro[2];
    constexpr int turns = 20'000;
    std::vector<std::thread> players;
    for (int me = 0; me < 2; me++)
        players.emplace_back([&, me] {
            for (int turn = 0; turn < turns; turn++) {
                if (me == 0)
                    to_and_fro[1].put();
                to_and_fro[me].take(nullptr);
                if (me == 1)
                    to_and_fro[0].put();
            }
        });
    for (std::thread &player : players)
        player.join();
    for (store &each : to_and_fro)
        each.expect_all_is_there();
}

} // namespace
} // namespace holdfast::test
