// SPDX-License-Identifier: MIT OR Apache-2.0
// Claims on a word: in what order they are met, what the word is then, and what is left of them in a child.
//
// Shown able to fail: the newest wait first; a claim on another word that is met; a word that is handed over as HELD; a
// claim that ends and stays in its list; a child that does not start over.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iterator>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "park/claims.h"
#include "park/word_lock.h"
}

namespace {

uint32_t standing() {
    return std::accumulate(std::begin(hf_claims_standing), std::end(hf_claims_standing), 0u);
}

struct claims : testing::Test {
    uint32_t word = HF_WORD_HELD;
    hf_claim one{}, other{};
    void TearDown() override {
        hf_claim_end(&one);
        hf_claim_end(&other);
        if (standing() != 0)
            std::abort(); // claim.C5: the next test would come upon memory that is no claim any more
    }
};

TEST_F(claims, AreMetInTheOrderOfTheirWaits) {
    hf_claim_begin(&one, &word, 20);
    hf_claim_begin(&other, &word, 10);
    EXPECT_EQ(standing(), 2u);
    EXPECT_TRUE(hf_claims_meet(&word, 0));
    EXPECT_TRUE(hf_claim_is_met(&other));
    EXPECT_FALSE(hf_claim_is_met(&one));
    EXPECT_EQ(word, uint32_t{HF_WORD_HELD_WITH_SLEEPERS}) << "claim.C2";
    EXPECT_TRUE(hf_claims_meet(&word, 0));
    EXPECT_TRUE(hf_claim_is_met(&one));
    EXPECT_FALSE(hf_claims_meet(&word, 0));
}

TEST_F(claims, OfOneWordAreNotOnAnother) {
    std::vector<uint32_t> words(1000, HF_WORD_HELD);
    hf_claim_begin(&one, &word, 1);
    for (uint32_t &each : words)
        EXPECT_FALSE(hf_claims_meet(&each, 0));
    EXPECT_FALSE(hf_claim_end(&one));
    EXPECT_FALSE(hf_claims_meet(&word, 0)) << "it has ended";
    EXPECT_EQ(word, uint32_t{HF_WORD_HELD});
    EXPECT_FALSE(hf_claims_stand(&word));
}

TEST_F(claims, AnOwnerMeetsOneInPlaceOfARelease) {
    hf_claim_begin(&one, &word, 1);
    uint8_t fenced = 1;
    EXPECT_EQ(hf_word_release_counted(&word, 1, &fenced), HF_WORD_OWES_RELEASE);
    EXPECT_EQ(word, uint32_t{HF_WORD_HELD}) << "not yet";
    EXPECT_EQ(hf_word_release_claimed(&word, 0), HF_WORD_OWES_NOTHING);
    EXPECT_TRUE(hf_claim_end(&one));
    EXPECT_EQ(hf_word_release_claimed(&word, 0), HF_WORD_OWES_WAKE) << "nobody claims: it is given back";
    EXPECT_EQ(word, uint32_t{HF_WORD_FREE});
}

TEST_F(claims, AreNotThereInAForkedChild) {
    hf_claim_begin(&one, &word, 1);
    pid_t child = fork();
    if (child == 0) {
        bool none = !hf_claims_meet(&word, 0) && standing() == 0;
        hf_claim_end(&one); // of the thread that has forked in its wait
        _exit(none && standing() == 0 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(hf_claims_meet(&word, 0));
}

} // namespace
