// SPDX-License-Identifier: MIT OR Apache-2.0
// What every lock promises, one promise a case.
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "holdfast/flexguard.h"
#include "lock/every_lock.hpp"
#include "lock/wait/lock_history.h"
#include "park/word_lock.h"

namespace holdfast::test {
namespace {

TEST_P(every_lock, IsFoundByItsName) {
    EXPECT_EQ(hf_lock_kind_find(kind.name), &kind);
    EXPECT_GT(kind.bytes, 0u);
    EXPECT_LE(kind.bytes, 16u) << "a lock is 16 bytes at most";
}

TEST_P(every_lock, IsFreeAgainAfterUnlock) {
    for (int i = 0; i < 100; i++) {
        lock();
        EXPECT_FALSE(trylock());
        unlock();
        EXPECT_TRUE(trylock());
        unlock();
    }
}

TEST_P(every_lock, AnotherThreadFailsToTryItWhileHeld) {
    lock();
    std::thread([this] { EXPECT_FALSE(trylock()); }).join();
    unlock();
    std::thread([this] {
        EXPECT_TRUE(trylock());
        unlock();
    }).join();
}

TEST_P(every_lock, AWaiterGetsItWhenItIsGivenBack) {
    std::atomic<bool> inside = false;
    lock();
    std::thread waiter([&] {
        lock();
        inside = true;
        unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(inside);
    unlock();
    waiter.join();
    EXPECT_TRUE(inside);
}

// sleep.S1, park/sleeper_counts.h: else an unlock that stores plainly may lose it.
// Whether that was seen: not where the deadline came before the look.
bool is_counted_while_asleep(long limit_ms, bool gives_up) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    hf_sleepers *here = hf_sleepers_at(&lock.word);
    hf_cas_release(&here->state, 0, HF_UNFENCED);
    hf_flexguard_lock(&lock);
    timespec at = from_now(CLOCK_MONOTONIC, limit_ms);
    auto is_over = [&at] {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
    };
    std::thread waiter([&] {
        int error = hf_flexguard_clocklock(&lock, CLOCK_MONOTONIC, &at);
        EXPECT_EQ(error, gives_up ? ETIMEDOUT : 0);
        if (!error)
            hf_flexguard_unlock(&lock);
    });
    while (hf_load_acquire(&lock.word) != HF_WORD_HELD_WITH_SLEEPERS && !is_over())
        std::this_thread::yield();
    uint32_t state = hf_load_acquire(&here->state);
    bool seen = !is_over();
    if (!gives_up)
        hf_flexguard_unlock(&lock);
    waiter.join();
    if (seen) {
        EXPECT_EQ(state, 1u) << "FENCED, and one is counted";
        EXPECT_EQ(here->state, 0u);
    }
    if (gives_up)
        hf_flexguard_unlock(&lock);
    hf_store_relaxed(&here->state, 0u);
    return seen;
}

TEST(flexguard, ASleeperIsCountedFromBeforeItsAnnouncementUntilAfterItsSleep) {
    EXPECT_TRUE(is_counted_while_asleep(3'600'000, false));
    long limit_ms = 30;
    for (; !is_counted_while_asleep(limit_ms, true); limit_ms *= 2) // longer, where the machine did not let us look
        ASSERT_LT(limit_ms, 60'000);
}

// wait.P5, lock/wait/yield_policy.h: while one that was woken sleeps once more nobody announces those that are still
// asleep.
TEST(flexguard, ADesignatedWakerWakesTheNextOne) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    hf_sleepers *here = hf_sleepers_at(&lock.word);
    for (int round = 0; round < 100; round++) {
        hf_flexguard_lock(&lock);
        auto wait = [&] {
            hf_flexguard_lock(&lock);
            hf_flexguard_unlock(&lock);
        };
        std::thread one(wait), other(wait);
        while ((hf_load_relaxed(&here->state) & ~HF_UNFENCED) != 2 ||
               hf_load_relaxed(&lock.word) != HF_WORD_HELD_WITH_SLEEPERS)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // or it is not asleep yet, which is all the same
        hf_lock_history *history = hf_history_of(&lock.releases);
        hf_history_begin(history, &lock.releases, lock.releases, hf_monotonic_ns(), HF_HISTORY_BARGE);
        hf_store_relaxed(&history->woken.arm, HF_HISTORY_WOKEN_SLEEPS);
        hf_flexguard_unlock(&lock);
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
        one.join();
        other.join();
    }
}

TEST_P(every_lock, SeveralCanBeHeldAndGivenBackInAnyOrder) {
    alignas(64) char locks[20][64] = {};
    for (auto &each : locks)
        kind.lock(each);
    for (int i = 0; i < 20; i += 2)
        kind.unlock(locks[i]);
    for (int i = 19; i > 0; i -= 2)
        kind.unlock(locks[i]);
    for (auto &each : locks) {
        EXPECT_TRUE(kind.trylock(each));
        kind.unlock(each);
    }
}

TEST_P(every_lock, TimedWaitGetsAFreeLockWhateverTheDeadline) {
    if (!kind.clocklock)
        return;
    EXPECT_EQ(clocklock(CLOCK_REALTIME, {.tv_sec = 0, .tv_nsec = 0}), 0);
    unlock();
    EXPECT_EQ(clocklock(CLOCK_REALTIME, {.tv_sec = 0, .tv_nsec = -1}), 0) << "a bad deadline matters only to who waits";
    unlock();
}

TEST_P(every_lock, TimedWaitEndsAtTheDeadline) {
    if (!kind.clocklock)
        return;
    lock();
    for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        timespec deadline = from_now(clock, 30);
        EXPECT_EQ(clocklock(clock, deadline), ETIMEDOUT);
        timespec now{};
        clock_gettime(clock, &now);
        EXPECT_TRUE(now.tv_sec > deadline.tv_sec || now.tv_nsec >= deadline.tv_nsec) << "not before the deadline";
    }
    EXPECT_EQ(clocklock(CLOCK_REALTIME, {.tv_sec = 1, .tv_nsec = 0}), ETIMEDOUT) << "in the past";
    EXPECT_EQ(clocklock(CLOCK_REALTIME, {.tv_sec = 1, .tv_nsec = 1'000'000'000}), EINVAL);
    EXPECT_EQ(clocklock(CLOCK_THREAD_CPUTIME_ID, {.tv_sec = 1, .tv_nsec = 0}), EINVAL);
    unlock();
    EXPECT_TRUE(trylock());
    unlock();
}

TEST_P(every_lock, TimedWaitGetsALockThatIsGivenBackInTime) {
    if (!kind.clocklock)
        return;
    lock();
    std::thread waiter([this] {
        EXPECT_EQ(clocklock(CLOCK_MONOTONIC, from_now(CLOCK_MONOTONIC, 60'000)), 0);
        unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    unlock();
    waiter.join();
}

// word.I4: a thread that gets the lock last frees it, while the one before may still be on its way out of unlock.
TEST_P(every_lock, TheNextOwnerMayFreeIt) {
    const int rounds = effort(2000, 200);
    for (int i = 0; i < rounds; i++) {
        auto *memory = static_cast<char *>(aligned_alloc(64, 64));
        std::fill(memory, memory + 64, 0);
        kind.lock(memory);
        std::thread last([&] {
            kind.lock(memory);
            kind.unlock(memory);
            std::fill(memory, memory + 64, -1);
            free(memory);
        });
        if (i % 2)
            std::this_thread::yield();
        kind.unlock(memory);
        last.join();
    }
}

INSTANTIATE_TEST_SUITE_P(lock, every_lock, all_locks(), lock_name);

TEST(lock_table, KnowsTheDefaultAndNoOthers) {
    EXPECT_STREQ(hf_lock_kind_find("default")->name, HF_DEFAULT_LOCK);
    EXPECT_EQ(hf_lock_kind_find("glibc"), nullptr);
    EXPECT_EQ(hf_lock_kind_find(""), nullptr);
}

} // namespace
} // namespace holdfast::test
