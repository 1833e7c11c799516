// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread's pace: does it work, besides taking locks? Shown able to fail: with the locks that it took not counted
// (AThreadThatTakesLocksAloneHasNone), with no pace begun by a wait's end (ThatOfAWaiterBeginsWithItsLock) or by a
// turn's (AYieldAtATurnsEndIsNone), and with a begin that a new thread finds in its record (ANewThreadHasWork).
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "holdfast/flexguard.h"
#include "lock/wait/pace.h"
#include "lock/wait/turn.h"

namespace {

constexpr std::uint64_t us = 1000;
constexpr std::uint64_t now_ns = 1'000'000 * us;

// How long after that time the thread's pace began.
std::uint32_t us_after(hf_thread_record *self, std::uint64_t then_ns) {
    return hf_private(self)->pace.since_us - static_cast<std::uint32_t>(then_ns / us);
}

// In a thread of its own, whose counters nobody else moves.
template <typename Body>
void in_a_thread(Body body) {
    std::thread([&] { body(hf_self()); }).join();
}

TEST(pace, AThreadThatWorksHasWork) {
    in_a_thread([](hf_thread_record *self) {
        hf_pace_begin(self, now_ns);
        EXPECT_FALSE(hf_pace_has_work(self, now_ns + (HF_PACE_WORK_US - 1) * us));
        EXPECT_TRUE(hf_pace_has_work(self, now_ns + HF_PACE_WORK_US * us));
    });
}

TEST(pace, AThreadThatTakesLocksAloneHasNone) {
    in_a_thread([](hf_thread_record *self) {
        hf_pace_begin(self, now_ns);
        for (int i = 0; i < 9; i++)
            hf_count_acquisition(self);
        EXPECT_FALSE(hf_pace_has_work(self, now_ns + (10 * HF_PACE_WORK_US - 1) * us)) << "nine locks, and this one";
        EXPECT_TRUE(hf_pace_has_work(self, now_ns + 10 * HF_PACE_WORK_US * us));
    });
}

TEST(pace, ANewThreadHasWork) {
    // Two records are free then, and one is found from the other.
    in_a_thread([](hf_thread_record *) { in_a_thread([](hf_thread_record *) {}); });
    in_a_thread([](hf_thread_record *self) { EXPECT_TRUE(hf_pace_has_work(self, hf_monotonic_ns())); });
}

TEST(pace, TimeInMicrosecondsStartsAgain) {
    in_a_thread([](hf_thread_record *self) {
        constexpr std::uint64_t wrap_ns = (std::uint64_t{1} << 32) * us;
        hf_pace_begin(self, wrap_ns - us);
        EXPECT_FALSE(hf_pace_has_work(self, wrap_ns));
        EXPECT_TRUE(hf_pace_has_work(self, wrap_ns + HF_PACE_WORK_US * us));
    });
}

TEST(pace, ThatOfAWaiterBeginsWithItsLock) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    std::atomic<bool> comes{false};
    hf_flexguard_lock(&lock);
    std::thread waiter([&] {
        hf_thread_record *self = hf_self();
        std::uint64_t began_ns = hf_monotonic_ns();
        comes = true;
        hf_pace_begin(self, began_ns);
        hf_flexguard_lock(&lock);
        EXPECT_GE(us_after(self, began_ns), 1000u) << "it waited for longer than that";
        hf_flexguard_unlock(&lock);
    });
    while (!comes)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    hf_flexguard_unlock(&lock);
    waiter.join();
}

TEST(pace, AYieldAtATurnsEndIsNone) {
    std::vector<std::thread> others; // more threads than CPUs: the process wants them
    std::atomic<bool> over{false};
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); i++) {
        others.emplace_back([&] {
            hf_self();
            while (!over)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
    in_a_thread([](hf_thread_record *self) {
        std::uint64_t before_ns = hf_monotonic_ns() - 1000 * us;
        do {
            hf_pace_begin(self, before_ns);
            hf_turn_begin(&self->turn, hf_monotonic_ns() - (HF_TURN_US + 1) * us);
            self->turn.looked_us = hf_turn_time(hf_monotonic_ns());
            self->works = 0;
            hf_turn_look(self);
        } while (!hf_turns_end(hf_monotonic_ns()));
        EXPECT_GE(us_after(self, before_ns), 1000u);
    });
    over = true;
    for (std::thread &other : others)
        other.join();
}

} // namespace
