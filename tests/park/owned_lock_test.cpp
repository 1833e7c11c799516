// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock word that says whose it is (park/owned_lock.h).
//
// Shown able to fail: a word that is taken without a look (IsOneThreadsAtATime, GoesThroughItsStates), an unlock that
// wakes nobody (ASleeperIsWoken), a thread that has slept and does not say that others may (TheOtherSleeperIsWoken).
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <vector>

#include "park/owned_lock.h"

namespace {

void wait_until_one_sleeps(uint32_t &word, uint32_t owner) {
    while (hf_load_relaxed(&word) != (owner | HF_OWNED_SLEEPERS))
        std::this_thread::yield();
}

TEST(owned_lock, GoesThroughItsStates) {
    uint32_t word = HF_OWNED_FREE;
    EXPECT_FALSE(hf_owned_is_by(&word, 7));
    EXPECT_TRUE(hf_owned_trylock(&word, 7));
    EXPECT_TRUE(hf_owned_is_by(&word, 7));
    EXPECT_FALSE(hf_owned_is_by(&word, 8));
    EXPECT_FALSE(hf_owned_trylock(&word, 8));
    word |= HF_OWNED_SLEEPERS;
    EXPECT_TRUE(hf_owned_is_by(&word, 7));
    hf_owned_unlock(&word);
    EXPECT_EQ(word, HF_OWNED_FREE);
    hf_owned_lock_blocking(&word, 8);
    EXPECT_EQ(word, 8u) << "nobody was asleep";
}

TEST(owned_lock, ASleeperIsWoken) {
    uint32_t word = 1;
    std::thread sleeper([&] {
        hf_owned_lock_blocking(&word, 2);
        EXPECT_TRUE(hf_owned_is_by(&word, 2));
        hf_owned_unlock(&word);
    });
    wait_until_one_sleeps(word, 1);
    hf_owned_unlock(&word);
    sleeper.join();
    EXPECT_EQ(word, HF_OWNED_FREE);
}

// One wake for two that sleep: the woken one owes the other its own.
TEST(owned_lock, TheOtherSleeperIsWoken) {
    constexpr int rounds = 200;
    for (int round = 0; round < rounds; round++) {
        uint32_t word = 1;
        std::atomic<int> about_to_sleep = 0;
        std::array<std::thread, 2> sleepers;
        for (uint32_t i = 0; i < sleepers.size(); i++) {
            sleepers[i] = std::thread([&, i] {
                about_to_sleep++;
                hf_owned_lock_blocking(&word, 2 + i);
                hf_owned_unlock(&word);
            });
        }
        while (about_to_sleep != 2)
            std::this_thread::yield();
        wait_until_one_sleeps(word, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // for the other, mostly
        hf_owned_unlock(&word);
        for (std::thread &each : sleepers)
            each.join();
        EXPECT_EQ(word, HF_OWNED_FREE);
    }
}

TEST(owned_lock, IsOneThreadsAtATime) {
    constexpr uint32_t threads = 4;
    constexpr int sections = 20'000;
    uint32_t word = HF_OWNED_FREE;
    std::atomic<int> inside = 0, met = 0;
    std::vector<std::thread> all;
    for (uint32_t number = 1; number <= threads; number++) {
        all.emplace_back([&, number] {
            for (int i = 0; i < sections; i++) {
                if (!hf_owned_trylock(&word, number))
                    hf_owned_lock_blocking(&word, number);
                met += inside++ != 0 || !hf_owned_is_by(&word, number);
                if (i % 16 == 0)
                    sched_yield();
                inside--;
                hf_owned_unlock(&word);
            }
        });
    }
    for (std::thread &each : all)
        each.join();
    EXPECT_EQ(met, 0);
    EXPECT_EQ(word, HF_OWNED_FREE);
}

} // namespace
