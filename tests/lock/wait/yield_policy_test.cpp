// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a waiter for a hot lock naps on a CPU that others want (P3).
//
// Shown able to fail, each by the test named: naps of one length, and the first one zero (AreTwiceAsLongEachTime); no
// longest nap (AreNoLongerThanASchedulersSlice); `slept_ns` not added to (EndInAWait); for whoever asks (AreNotForAll,
// AreNotForWhoHoldsAnotherLock, AreNotForWhoStandsInAQueue); counted in 32 bits (AreAsLongAsTheyWere). Of who stands by
// (P5): naps whatever is known of the lock, however long it has slept, or though it has napped enough; not counted.
#include <gtest/gtest.h>

#include "lock/wait/lock_history.h"
#include "lock/wait/yield_policy.h"

namespace {

TEST(flexguard_nap, AreTwiceAsLongEachTime) {
    hf_naps naps = hf_naps_begin(true);
    EXPECT_EQ(hf_naps_next(&naps), static_cast<uint32_t>(HF_FIRST_NAP_NS));
    EXPECT_EQ(hf_naps_next(&naps), 2u * HF_FIRST_NAP_NS);
    EXPECT_EQ(hf_naps_next(&naps), 4u * HF_FIRST_NAP_NS);
}

TEST(flexguard_nap, AreNoLongerThanASchedulersSlice) {
    hf_naps naps = hf_naps_begin(true);
    for (int i = 0; i < 100; i++)
        EXPECT_LE(hf_naps_next(&naps), static_cast<uint32_t>(HF_LONGEST_NAP_NS));
    EXPECT_EQ(hf_naps_next(&naps), static_cast<uint32_t>(HF_LONGEST_NAP_NS));
}

TEST(flexguard_nap, EndInAWait) {
    hf_naps naps = hf_naps_begin(true);
    EXPECT_TRUE(hf_naps_are_left(&naps));
    uint64_t slept_ns = 0;
    for (int i = 0; hf_naps_are_left(&naps); i++) {
        ASSERT_LT(i, 1000);
        uint64_t length_ns = hf_naps_next(&naps);
        hf_naps_ended(&naps, length_ns);
        slept_ns += length_ns;
    }
    EXPECT_LT(slept_ns, uint64_t{HF_NAPS_NS} + HF_LONGEST_NAP_NS);
}

TEST(flexguard_nap, AreNotForAll) {
    hf_naps naps = hf_naps_begin(false);
    EXPECT_FALSE(hf_naps_are_left(&naps));
}

TEST(flexguard_nap, AreNotForWhoHoldsAnotherLock) {
    hf_thread_record *self = hf_self();
    EXPECT_TRUE(hf_may_nap(self, 0));
    hf_critical_enter(self);
    EXPECT_FALSE(hf_may_nap(self, 0));
    EXPECT_TRUE(hf_may_nap(self, 1)) << "than the one that it is about to give back";
    hf_critical_leave(self);
}

TEST(flexguard_nap, AreNotForWhoStandsInAQueue) {
    hf_thread_record *self = hf_self();
    hf_queue_tail tail = nullptr;
    hf_queue_enter(&tail, self);
    EXPECT_FALSE(hf_may_nap(self, 0));
    hf_queue_leave(&tail, self);
    EXPECT_TRUE(hf_may_nap(self, 0));
}

// P5.
struct standing_by : testing::Test {
    standing_by() {
        hf_trial_begin(trial, &releases, releases, hf_monotonic_ns(), HF_TRIAL_TAKE);
        trial->woken.way = HF_TRIAL_WOKEN_NAPS;
    }
    ~standing_by() override { *trial = {}; }

    bool stands_by(uint64_t slept_ns = 0) {
        // So that a busy machine does not make it too late to stand by.
        hf_store_relaxed(&trial->woken_rate.since_ns, hf_monotonic_ns() + 1'000'000'000);
        return hf_stands_by(&releases, hf_monotonic_ns() + 1'000'000'000 - slept_ns, &naps, &wait);
    }

    hf_release_count releases = 0;
    hf_trial *trial = hf_trial_of(&releases);
    hf_wait wait = hf_wait_begin(hf_self());
    hf_naps naps = hf_naps_begin(true);
};

TEST_F(standing_by, NapsAndIsCounted) {
    uint64_t blocked = hf_counters(hf_self())->blocked;
    EXPECT_TRUE(stands_by());
    EXPECT_GE(naps.slept_ns, uint64_t{HF_STAND_BY_NS});
    EXPECT_EQ(hf_counters(hf_self())->blocked, blocked + 1);
}

TEST_F(standing_by, IsNotForWhoHasSleptForLong) {
    EXPECT_FALSE(stands_by(1'000'000'000 + HF_STAND_BY_WAIT_NS));
    EXPECT_EQ(naps.slept_ns, 0u);
}

TEST_F(standing_by, IsNotForWhoHasNappedEnoughOrMayNot) {
    naps = hf_naps_begin(false);
    EXPECT_FALSE(stands_by());
    naps = hf_naps_begin(true);
    for (int i = 0; stands_by(); i++)
        ASSERT_LT(i, HF_NAPS_NS / HF_STAND_BY_NS);
}

TEST_F(standing_by, IsNotForWhomTheTrialLetsTakeTheWord) {
    trial->woken.way = HF_TRIAL_WOKEN_TAKES;
    EXPECT_FALSE(stands_by());
}

TEST(flexguard_nap, AreAsLongAsTheyWere) {
    hf_naps naps = hf_naps_begin(true);
    hf_naps_next(&naps);
    hf_naps_ended(&naps, uint64_t{1} << 40);
    EXPECT_FALSE(hf_naps_are_left(&naps)) << "the machine stood still";
}

} // namespace
