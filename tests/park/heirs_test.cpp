// SPDX-License-Identifier: MIT OR Apache-2.0
// Heirs of a word (park/heirs.h): who becomes one, what an owner leaves to it, and what it finds when it has the lock
// or goes without.
//
// Shown able to fail: an heir although nobody sleeps; a second one; TOOK of an heir that was not marked; a mark that is
// not taken back; a release that marks an heir of a word that is HELD.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "park/heirs.h"
#include "park/word_lock.h"
}

namespace {

struct heirs : testing::Test {
    alignas(64) uint32_t word = HF_WORD_HELD_WITH_SLEEPERS;
    uint8_t fenced = 1;
    heirs() {
        *hf_sleepers_at(&word) = {};
        *hf_heir_of(&word) = {};
        hf_sleeper_comes(&word);
    }
    ~heirs() override { hf_sleeper_goes(&word); }

    hf_word_owes release() { return hf_word_release_counted(&word, 1, &fenced); }
};

TEST_F(heirs, AreThereWhileSomebodySleeps) {
    hf_sleeper_goes(&word);
    EXPECT_FALSE(hf_heir_begin(&word));
    hf_sleeper_comes(&word);
    EXPECT_TRUE(hf_heir_begin(&word));
    EXPECT_FALSE(hf_heir_begin(&word)) << "there is one already";
    EXPECT_FALSE(hf_heir_end(&word, false));
    EXPECT_TRUE(hf_heir_begin(&word));
}

TEST_F(heirs, ThatAreMarkedFindSleepersWhenTheyHaveTheLock) {
    ASSERT_TRUE(hf_heir_begin(&word));
    EXPECT_EQ(release(), HF_WORD_OWES_WAKE_IF_NO_HEIR);
    EXPECT_TRUE(hf_heir_has_sleepers(&word));
    EXPECT_TRUE(hf_heir_end(&word, true));
    EXPECT_TRUE(hf_heir_has_sleepers(&word)) << "it was faster than the owner's look";
    EXPECT_FALSE(hf_heir_unmark(&word));
    EXPECT_FALSE(hf_heir_mark(&word)) << "it is the owner now";
    EXPECT_TRUE(hf_heir_begin(&word)) << "another one";
}

TEST_F(heirs, ThatAreMarkedFindSleepersWhenTheyGo) {
    ASSERT_TRUE(hf_heir_begin(&word));
    EXPECT_TRUE(hf_heir_mark(&word));
    EXPECT_TRUE(hf_heir_end(&word, false));
    EXPECT_FALSE(hf_heir_has_sleepers(&word)) << "nobody may find the word FREE";
    ASSERT_TRUE(hf_heir_begin(&word));
    EXPECT_FALSE(hf_heir_has_sleepers(&word)) << "nor does one that has come since know of them";
    EXPECT_FALSE(hf_heir_end(&word, true));
    EXPECT_FALSE(hf_heir_has_sleepers(&word));
}

TEST_F(heirs, FindNothingOnceTheMarkIsTakenBack) {
    ASSERT_TRUE(hf_heir_begin(&word));
    EXPECT_TRUE(hf_heir_mark(&word));
    EXPECT_TRUE(hf_heir_mark(&word)) << "the next owner, where the heir was too slow";
    EXPECT_TRUE(hf_heir_unmark(&word));
    EXPECT_FALSE(hf_heir_has_sleepers(&word));
    EXPECT_FALSE(hf_heir_end(&word, true));
}

TEST_F(heirs, AreMarkedOnlyWhereASleeperWouldBeWoken) {
    EXPECT_EQ(release(), HF_WORD_OWES_WAKE);
    word = HF_WORD_HELD;
    ASSERT_TRUE(hf_heir_begin(&word));
    EXPECT_EQ(release(), HF_WORD_OWES_NOTHING);
    EXPECT_FALSE(hf_heir_end(&word, true));
}

TEST_F(heirs, OfOneWordAreNotOnAnother) {
    std::vector<uint32_t> words(1 << (HF_HEIRS_BITS + 4), HF_WORD_HELD_WITH_SLEEPERS);
    ASSERT_TRUE(hf_heir_begin(&word));
    int in_its_place = 0;
    for (const uint32_t &other : words) {
        EXPECT_FALSE(hf_heir_mark(&other));
        EXPECT_FALSE(hf_heir_has_sleepers(&other));
        EXPECT_FALSE(hf_heir_end(&other, false));
        in_its_place += hf_heir_of(&other) == hf_heir_of(&word);
    }
    EXPECT_GT(in_its_place, 0);
    EXPECT_TRUE(hf_heir_mark(&word));
    EXPECT_TRUE(hf_heir_end(&word, false));
}

TEST_F(heirs, AreNotThereInAForkedChild) {
    ASSERT_TRUE(hf_heir_begin(&word));
    pid_t child = fork();
    if (child == 0)
        _exit(!hf_heir_mark(&word) && !hf_heir_end(&word, true) ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(hf_heir_mark(&word));
    EXPECT_TRUE(hf_heir_end(&word, false));
}

} // namespace
