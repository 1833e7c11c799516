// SPDX-License-Identifier: MIT OR Apache-2.0
// When the fast clock runs.
//
// Shown able to fail: with a rest that is left out, that does not double, has no end, or stays long; with a phase that
// ends though it brought detections.
#include "monitor/sampling_pace.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using std::chrono::milliseconds;

class SamplingPace : public testing::Test {
protected:
    // What it is after `passed`, suspicions and detections being as they are.
    void after(milliseconds passed) {
        now_ += passed;
        wait = pace.next(now_, suspected, detections);
    }

    sampling_pace pace;
    bool suspected = false;
    std::uint64_t detections = 0;
    milliseconds wait{};

private:
    sampling_pace::time_point now_{};
};

TEST_F(SamplingPace, IsSlowWhileNothingIsSuspected) {
    for (int i = 0; i < 100; i++) {
        after(milliseconds(50));
        EXPECT_TRUE(!pace.is_fast() && pace.would_hear());
    }
}

TEST_F(SamplingPace, StaysFastWhileItFinds) {
    suspected = true;
    after(milliseconds(0));
    for (int i = 0; i < 100; i++) {
        EXPECT_TRUE(pace.is_fast());
        EXPECT_EQ(wait, sampling_pace::phase);
        detections++;
        after(wait);
    }
    after(wait);
    EXPECT_FALSE(pace.is_fast());
}

TEST_F(SamplingPace, RestsLongerAfterEachPhaseInVain) {
    suspected = true;
    milliseconds rest = sampling_pace::shortest_rest;
    for (int i = 0; i < 10; i++) {
        after(milliseconds(0));
        EXPECT_TRUE(pace.is_fast());
        after(wait - milliseconds(1));
        EXPECT_TRUE(pace.is_fast());
        after(milliseconds(1));
        EXPECT_TRUE(!pace.is_fast() && !pace.would_hear());
        EXPECT_EQ(wait, rest);
        after(wait);
        EXPECT_TRUE(!pace.is_fast() && pace.would_hear());
        rest = std::min(2 * rest, sampling_pace::longest_rest);
    }
    EXPECT_EQ(rest, sampling_pace::longest_rest);
}

TEST_F(SamplingPace, APhaseThatFindsMakesTheNextRestShort) {
    suspected = true;
    for (int i = 0; i < 3; i++) {
        after(milliseconds(0));
        after(wait);
        after(wait);
    }
    after(milliseconds(0));
    detections++;
    after(wait);
    after(wait);
    EXPECT_EQ(wait, sampling_pace::shortest_rest);
}

} // namespace
} // namespace holdfast
