// SPDX-License-Identifier: MIT OR Apache-2.0
// Turns: whose is over, and that it is worth it. Shown able to fail: with no look at the time between two looks
// (BeginsAnewForOneThatWorks), with hf_yield left out (PollersUnderALockGiveWay: more than 0.3 s), and with a yield
// whatever is held (ThatHoldsALockGoesOn).
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <time.h>

#include "holdfast/flexguard.h"
#include "lock/wait/turn.h"

namespace {

constexpr std::uint64_t us = 1000;

TEST(turn, IsOverAfterItsTime) {
    hf_turn own{};
    std::uint64_t now_ns = 7 * us;
    hf_turn_begin(&own, now_ns);
    EXPECT_FALSE(hf_turn_ends(&own, now_ns + (HF_TURN_US - 1) * us));
    EXPECT_TRUE(hf_turn_ends(&own, now_ns + HF_TURN_US * us));
    EXPECT_TRUE(hf_turn_ends(&own, now_ns + (HF_TURN_US + 1) * us)); // until another begins
}

TEST(turn, BeginsAnewForOneThatWorks) {
    constexpr std::uint64_t apart_ns = (HF_TURN_WORK_US + 1) * us;
    hf_turn own{};
    for (std::uint64_t look = 1; look < 10; look++)
        EXPECT_FALSE(hf_turn_ends(&own, look * apart_ns)) << look;
}

TEST(turn, IsLongAfterALongYieldAlone) {
    hf_turn own{};
    constexpr std::uint64_t since_ns = 5000 * us, brief_ns = since_ns + 1000 * us, long_ns = since_ns + 3000 * us;
    hf_turn_begin_after_yield(&own, since_ns, brief_ns);
    EXPECT_TRUE(hf_turn_is_over(&own, brief_ns + HF_TURN_US * us));
    hf_turn_begin_after_yield(&own, since_ns, long_ns);
    EXPECT_FALSE(hf_turn_is_over(&own, long_ns + 3000 * us));
    EXPECT_TRUE(hf_turn_is_over(&own, long_ns + (3000 + HF_TURN_US) * us));
}

TEST(turn, GoesOnWhenItsTimeStartsAgain) {
    constexpr std::uint64_t wraps_ns = (std::uint64_t{1} << 32) * us;
    hf_turn own{};
    hf_turn_begin(&own, wraps_ns - us);
    EXPECT_FALSE(hf_turn_ends(&own, wraps_ns + us));
    EXPECT_TRUE(hf_turn_ends(&own, wraps_ns + HF_TURN_US * us));
}

TEST(turn, ThatHoldsALockGoesOn) {
    hf_thread_record *self = hf_self();
    hf_turn_begin(&self->turn, 0);
    hf_critical_enter(self);
    hf_turn before = self->turn;
    hf_turn_look(self);
    EXPECT_EQ(self->turn.looked_us, before.looked_us);
    EXPECT_LT(hf_counters(self)->next_look, hf_counters(self)->acquisitions + HF_LOOKS_APART);
    hf_critical_leave(self);
}

// CPU time, since others may have the machine. Without yields each exchange takes one of the scheduler's slices.
TEST(turn, PollersUnderALockGiveWay) {
    cpu_set_t all, one;
    pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    constexpr int exchanges = 200;
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    int number = 0;
    auto poll = [&](int parity) {
        for (bool over = false; !over;) {
            hf_flexguard_lock(&lock);
            over = number >= exchanges;
            number += !over && number % 2 == parity;
            hf_flexguard_unlock(&lock);
        }
    };
    timespec began{}, ended{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    std::thread odd(poll, 1), even(poll, 0);
    odd.join();
    even.join();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    double took_s =
        static_cast<double>(ended.tv_sec - began.tv_sec) + 1e-9 * static_cast<double>(ended.tv_nsec - began.tv_nsec);
    RecordProperty("cpu_ms", std::to_string(1e3 * took_s));
    EXPECT_LT(took_s, 0.15);
    pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

} // namespace
