// SPDX-License-Identifier: MIT OR Apache-2.0
#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <thread>

#include "base/clock.h"
#include "park/deadline.h"
#include "park/word_lock.h"

namespace {

hf_deadline in_ms(clockid_t clock, long ms) {
    hf_deadline deadline{.clock = clock, .at = {}};
    clock_gettime(clock, &deadline.at);
    deadline.at.tv_nsec += ms * 1'000'000;
    while (deadline.at.tv_nsec >= 1'000'000'000) {
        deadline.at.tv_nsec -= 1'000'000'000;
        deadline.at.tv_sec++;
    }
    return deadline;
}

TEST(word_lock, GoesThroughItsStates) {
    uint32_t word = HF_WORD_FREE;
    EXPECT_TRUE(hf_word_trylock(&word, HF_WORD_HELD));
    EXPECT_EQ(word, HF_WORD_HELD);
    EXPECT_FALSE(hf_word_trylock(&word, HF_WORD_HELD));
    EXPECT_FALSE(hf_word_release(&word)) << "nobody to wake";
    EXPECT_EQ(hf_word_lock_blocking(&word, nullptr), 0);
    EXPECT_EQ(word, HF_WORD_HELD_WITH_SLEEPERS) << "it can't know that nobody sleeps";
    EXPECT_TRUE(hf_word_release(&word));
    EXPECT_EQ(word, HF_WORD_FREE);
}

TEST(word_lock, TimesOutOnBothClocks) {
    uint32_t word = HF_WORD_HELD;
    for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        hf_deadline deadline = in_ms(clock, 30);
        EXPECT_EQ(hf_word_lock_blocking(&word, &deadline), ETIMEDOUT);
        EXPECT_TRUE(hf_deadline_has_passed(&deadline));
    }
}

TEST(word_lock, TimesOutAtOnceWhenTheDeadlineHasPassed) {
    uint32_t word = HF_WORD_HELD;
    for (time_t second : {time_t(0), time_t(1), time_t(-1), time_t(-1'000'000'000)}) {
        hf_deadline deadline{.clock = CLOCK_REALTIME, .at = {.tv_sec = second, .tv_nsec = 0}};
        EXPECT_EQ(hf_word_lock_blocking(&word, &deadline), ETIMEDOUT);
    }
}

// The kernel refuses such times. Shown able to fail: EINVAL not taken for a deadline that has passed.
TEST(futex, TimesOutBeforeTheEpoch) {
    uint32_t word = HF_WORD_HELD;
    for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        hf_deadline before = {.clock = clock, .at = {.tv_sec = -1, .tv_nsec = 0}};
        EXPECT_EQ(hf_futex_wait(&word, HF_WORD_HELD, &before), ETIMEDOUT);
        EXPECT_EQ(hf_futex_wait_as(&word, HF_WORD_HELD, &before, 1), ETIMEDOUT);
    }
}

// The kernel compares the word before it looks at the time. A waiter that was overtaken between its announcement and
// its sleep, again and again, would wait for ever.
TEST(word_lock, TimesOutThoughTheWordIsAnother) {
    uint32_t word = HF_WORD_HELD;
    hf_deadline passed = in_ms(CLOCK_MONOTONIC, 0), to_come = passed;
    to_come.at.tv_sec += 3600;
    EXPECT_EQ(hf_futex_wait(&word, HF_WORD_HELD_WITH_SLEEPERS, &passed), ETIMEDOUT);
    EXPECT_EQ(hf_futex_wait(&word, HF_WORD_HELD_WITH_SLEEPERS, &to_come), 0);
    EXPECT_EQ(hf_futex_wait(&word, HF_WORD_HELD_WITH_SLEEPERS, nullptr), 0);
}

TEST(word_lock, ASleeperIsWoken) {
    uint32_t word = HF_WORD_HELD;
    std::atomic<bool> inside = false;
    std::thread sleeper([&] {
        hf_word_lock_blocking(&word, nullptr);
        inside = true;
        hf_word_unlock(&word);
    });
    while (hf_load_relaxed(&word) != HF_WORD_HELD_WITH_SLEEPERS)
        std::this_thread::yield();
    EXPECT_FALSE(inside);
    hf_word_unlock(&word);
    sleeper.join();
    EXPECT_TRUE(inside);
    EXPECT_EQ(word, HF_WORD_FREE);
}

TEST(word_lock, LeavesErrnoAlone) {
    uint32_t word = HF_WORD_HELD;
    hf_deadline deadline = in_ms(CLOCK_MONOTONIC, 1);
    errno = 1234;
    hf_word_lock_blocking(&word, &deadline);
    hf_futex_wake(nullptr, 1);
    EXPECT_EQ(errno, 1234);
}

TEST(deadline, ImpossibleOnesAreFound) {
    hf_deadline deadline{.clock = CLOCK_MONOTONIC, .at = {.tv_sec = 0, .tv_nsec = 999'999'999}};
    EXPECT_TRUE(hf_deadline_is_valid(&deadline));
    deadline.at.tv_nsec = 1'000'000'000;
    EXPECT_FALSE(hf_deadline_is_valid(&deadline));
    deadline.at.tv_nsec = -1;
    EXPECT_FALSE(hf_deadline_is_valid(&deadline));
    deadline.at.tv_nsec = 0;
    deadline.clock = CLOCK_PROCESS_CPUTIME_ID;
    EXPECT_FALSE(hf_deadline_is_valid(&deadline));
}

} // namespace
