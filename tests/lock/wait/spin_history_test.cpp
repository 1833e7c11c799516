// SPDX-License-Identifier: MIT OR Apache-2.0
// In which rounds of a barrier waiters spin.
//
// Shown able to fail, each by the test named: no rest (RestsLongerAfterEachSpinInVain), one of a set length (the same),
// without a bound (ARestHasABound); a good spin that ends nothing (AGoodSpinEndsIt); each of a round's waiters heard
// (OneSpinInVainOfARoundCounts); rounds compared without their wrap (RoundsMayWrap).
#include <gtest/gtest.h>

#include "lock/wait/spin_history.h"

namespace {

struct spin_rounds : testing::Test {
    hf_spin_history spin = hf_spin_history_begin();
    std::uint32_t round = 0;

    // Rounds without a spin before the next one with.
    std::uint32_t skipped() {
        std::uint32_t from = ++round;
        while (!hf_spin_history_may_spin(&spin, round))
            round++;
        return round - from;
    }
};

TEST_F(spin_rounds, SpinsWhileItIsGood) {
    for (; round < 1000; round++) {
        ASSERT_TRUE(hf_spin_history_may_spin(&spin, round));
        hf_spin_history_was_good(&spin, round);
    }
}

TEST_F(spin_rounds, RestsLongerAfterEachSpinInVain) {
    for (std::uint32_t expected : {1u, 3u, 7u, 15u}) {
        hf_spin_history_was_vain(&spin, round);
        EXPECT_EQ(skipped(), expected);
    }
}

TEST_F(spin_rounds, ARestHasABound) {
    for (int i = 0; i < 40; i++) {
        hf_spin_history_was_vain(&spin, round);
        skipped();
    }
    hf_spin_history_was_vain(&spin, round);
    EXPECT_EQ(skipped(), std::uint32_t{HF_SPIN_SKIPPED_MAX});
}

TEST_F(spin_rounds, AGoodSpinEndsIt) {
    for (int i = 0; i < 5; i++) {
        hf_spin_history_was_vain(&spin, round);
        skipped();
    }
    hf_spin_history_was_good(&spin, round);
    EXPECT_EQ(skipped(), 0u);
    hf_spin_history_was_vain(&spin, round);
    EXPECT_EQ(skipped(), 1u) << "as at first";
}

// One waiter had no more patience, and a later one of the same round saw its end.
TEST_F(spin_rounds, AGoodSpinOfTheSameRoundEndsIt) {
    hf_spin_history_was_vain(&spin, round);
    hf_spin_history_was_good(&spin, round);
    EXPECT_EQ(skipped(), 0u);
}

TEST_F(spin_rounds, OneSpinInVainOfARoundCounts) {
    for (int waiter = 0; waiter < 10; waiter++)
        hf_spin_history_was_vain(&spin, round);
    EXPECT_EQ(skipped(), 1u);
}

TEST_F(spin_rounds, RoundsMayWrap) {
    spin.next = round = UINT32_MAX - 5; // as after a rest
    for (std::uint32_t expected : {1u, 3u, 7u, 15u}) {
        hf_spin_history_was_vain(&spin, round);
        EXPECT_EQ(skipped(), expected);
    }
    // Good for so long that the first round after the last rest seems to lie ahead.
    hf_spin_history_was_good(&spin, round);
    round += std::uint32_t{1} << 31;
    EXPECT_EQ(skipped(), 0u);
}

} // namespace
