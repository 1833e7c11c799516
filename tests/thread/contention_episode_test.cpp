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

class episode : public testing::Test {
public:
    hf_contention_episode own{};
    uint64_t now_ns = 5'000'000 * us;

    void visit_after(uint64_t time_us) {
        now_ns += time_us * us;
        hf_episode_visit(&own, now_ns);
    }
    bool is_over() const { return hf_episode_is_long(&own, now_ns); }
};

TEST_F(episode, BeginsWithTheFirstVisit) {
    visit_after(0);
    EXPECT_FALSE(is_over());
}

TEST_F(episode, GoesOnWhileItIsVisited) {
    visit_after(0);
    for (uint64_t age_us = 0; age_us < HF_EPISODE_US; age_us += HF_EPISODE_US / 4) {
        EXPECT_FALSE(is_over()) << age_us;
        visit_after(HF_EPISODE_US / 4);
    }
    for (int visits = 0; visits < 20; visits++) {
        EXPECT_TRUE(is_over());
        visit_after(HF_EPISODE_GAP_US);
    }
}

TEST_F(episode, EndsWhenItsThreadStaysAway) {
    visit_after(0);
    visit_after(HF_EPISODE_GAP_US);
    EXPECT_TRUE(is_over());
    visit_after(HF_EPISODE_GAP_US + 1);
    EXPECT_FALSE(is_over());
}

TEST_F(episode, BeginsAnew) {
    visit_after(0);
    visit_after(HF_EPISODE_GAP_US);
    hf_episode_begin(&own, now_ns);
    EXPECT_FALSE(is_over());
    visit_after(HF_EPISODE_US - 1);
    EXPECT_FALSE(is_over());
    visit_after(1);
    EXPECT_TRUE(is_over());
}

TEST_F(episode, GoesOnWhenTheTimeStartsAgain) {
    now_ns = ((uint64_t{1} << 32) - HF_EPISODE_US / 2) * us;
    visit_after(0);
    visit_after(HF_EPISODE_US / 4);
    EXPECT_FALSE(is_over());
    visit_after(HF_EPISODE_US / 2);
    EXPECT_FALSE(is_over());
    visit_after(HF_EPISODE_US / 4);
    EXPECT_TRUE(is_over());
}

} // namespace
