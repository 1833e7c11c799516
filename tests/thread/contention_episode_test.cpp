// SPDX-License-Identifier: MIT OR Apache-2.0
// When a thread's spell at hot locks begins, and when it is over.
//
// Shown able to fail, each by the test named: no gap, one that counts from the spell's begin, and a visit that does not
// count (GoesOnWhileItIsVisited); a gap that ends no spell (EndsWhenItsThreadStaysAway); a begin that leaves the old
// one (BeginsAnew); times compared as they are (GoesOnWhenTheTimeStartsAgain).
#include <gtest/gtest.h>

#include "thread/contention_episode.h"

namespace {

constexpr uint64_t us = 1000;

class spell : public testing::Test {
public:
    hf_spell own{};
    uint64_t now_ns = 5'000'000 * us;

    void visit_after(uint64_t time_us) {
        now_ns += time_us * us;
        hf_spell_visit(&own, now_ns);
    }
    bool is_over() const { return hf_spell_is_over(&own, now_ns); }
};

TEST_F(spell, BeginsWithTheFirstVisit) {
    visit_after(0);
    EXPECT_FALSE(is_over());
}

TEST_F(spell, GoesOnWhileItIsVisited) {
    visit_after(0);
    for (uint64_t age_us = 0; age_us < HF_SPELL_US; age_us += HF_SPELL_US / 4) {
        EXPECT_FALSE(is_over()) << age_us;
        visit_after(HF_SPELL_US / 4);
    }
    for (int visits = 0; visits < 20; visits++) {
        EXPECT_TRUE(is_over());
        visit_after(HF_SPELL_GAP_US);
    }
}

TEST_F(spell, EndsWhenItsThreadStaysAway) {
    visit_after(0);
    visit_after(HF_SPELL_GAP_US);
    EXPECT_TRUE(is_over());
    visit_after(HF_SPELL_GAP_US + 1);
    EXPECT_FALSE(is_over());
}

TEST_F(spell, BeginsAnew) {
    visit_after(0);
    visit_after(HF_SPELL_GAP_US);
    hf_spell_begin(&own, now_ns);
    EXPECT_FALSE(is_over());
    visit_after(HF_SPELL_US - 1);
    EXPECT_FALSE(is_over());
    visit_after(1);
    EXPECT_TRUE(is_over());
}

TEST_F(spell, GoesOnWhenTheTimeStartsAgain) {
    now_ns = ((uint64_t{1} << 32) - HF_SPELL_US / 2) * us;
    visit_after(0);
    visit_after(HF_SPELL_US / 4);
    EXPECT_FALSE(is_over());
    visit_after(HF_SPELL_US / 2);
    EXPECT_FALSE(is_over());
    visit_after(HF_SPELL_US / 4);
    EXPECT_TRUE(is_over());
}

} // namespace
