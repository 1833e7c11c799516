// SPDX-License-Identifier: MIT OR Apache-2.0
// A lock in a process with one thread, which takes it without atomic instructions, and what becomes of it when there is
// a second one.
//
// Shown able to fail: nobody the only thread, everybody; a held word taken; a release that stores nothing, or wakes
// nobody, or is not counted; a thread that is not critical while it holds the lock.
#include <gtest/gtest.h>
#include <thread>

#include "holdfast/flexguard.h"
#include "lock/flexguard/flexguard_lock.h"

namespace {

// In the order in which they stand here: from the second on there has been another thread.
TEST(only_thread, TakesAndGivesBack) {
    ASSERT_TRUE(hf_is_only_thread());
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    for (int i = 0; i < 3; i++) {
        ASSERT_TRUE(hf_flexguard_try_own_word(&lock.word, hf_self()));
        EXPECT_EQ(lock.word, static_cast<uint32_t>(HF_WORD_HELD));
        EXPECT_EQ(hf_self()->critical.critical_depth, 1u);
        EXPECT_FALSE(hf_flexguard_try_own_word(&lock.word, hf_self()));
        EXPECT_EQ(hf_self()->critical.critical_depth, 1u);
        EXPECT_FALSE(hf_flexguard_trylock(&lock));
        EXPECT_EQ(hf_flexguard_give_own(&lock.word, &lock.releases, &lock.fenced, hf_self()), HF_WORD_OWES_NOTHING);
        EXPECT_EQ(lock.word, static_cast<uint32_t>(HF_WORD_FREE));
        EXPECT_EQ(hf_self()->critical.critical_depth, 0u);
    }
    EXPECT_EQ(lock.releases, 3);
    uint32_t word = HF_WORD_HELD_WITH_SLEEPERS;
    EXPECT_EQ(hf_word_release_own(&word, 1, &lock.fenced), HF_WORD_OWES_WAKE) << "somebody of another time may sleep";
}

TEST(only_thread, GivesWhatItHoldsToTheNextOne) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    ASSERT_TRUE(hf_flexguard_try_own_word(&lock.word, hf_self()));
    std::thread second([&lock] {
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
    });
    EXPECT_FALSE(hf_is_only_thread());
    while (hf_load_relaxed(&lock.word) != HF_WORD_HELD_WITH_SLEEPERS)
        std::this_thread::yield();
    EXPECT_EQ(hf_flexguard_give_own(&lock.word, &lock.releases, &lock.fenced, hf_self()), HF_WORD_OWES_WAKE);
    hf_word_wake(&lock.word);
    second.join();
    EXPECT_EQ(lock.word, static_cast<uint32_t>(HF_WORD_FREE));
}

} // namespace
