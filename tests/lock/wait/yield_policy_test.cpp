// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a waiter for a hot lock sleeps on a CPU that others want (wait.P3).
//
// Shown able to fail, each by the test named: sleeps of one length, and the first one zero (AreTwiceAsLongEachTime); no
// longest sleep (AreNoLongerThanASchedulersSlice); twice as long whatever the limit
// (AreOfOneLengthWhereCpuTimeIsLimited); `slept_ns` not added to (EndInAWait); for a thread that asks
// (AreNotForAll, AreNotForWhoHoldsAnotherLock, AreNotForWhoStandsInAQueue); counted in 32 bits (AreAsLongAsTheyWere).
// When a waiter sleeps so is next_step_test's.
#include <gtest/gtest.h>

#include "lock/wait/yield_policy.h"

namespace {

TEST(yield_policy, AreTwiceAsLongEachTime) {
    hf_yields yields = hf_yields_begin(true);
    EXPECT_EQ(hf_yields_next_sleep(&yields), static_cast<uint32_t>(HF_YIELD_FIRST_NS));
    EXPECT_EQ(hf_yields_next_sleep(&yields), 2u * HF_YIELD_FIRST_NS);
    EXPECT_EQ(hf_yields_next_sleep(&yields), 4u * HF_YIELD_FIRST_NS);
}

TEST(yield_policy, AreNoLongerThanASchedulersSlice) {
    hf_yields yields = hf_yields_begin(true);
    for (int i = 0; i < 100; i++)
        EXPECT_LE(hf_yields_next_sleep(&yields), static_cast<uint32_t>(HF_YIELD_LONGEST_NS));
    EXPECT_EQ(hf_yields_next_sleep(&yields), static_cast<uint32_t>(HF_YIELD_LONGEST_NS));
}

TEST(yield_policy, AreOfOneLengthWhereCpuTimeIsLimited) {
    hf_self(); // a thread that has a record counts
    hf_cpu_limit_millis = 1;
    hf_yields yields = hf_yields_begin(true);
    hf_cpu_limit_millis = HF_NO_CPU_LIMIT;
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(hf_yields_next_sleep(&yields), static_cast<uint32_t>(HF_YIELD_FIRST_NS));
}

TEST(yield_policy, EndInAWait) {
    hf_yields yields = hf_yields_begin(true);
    EXPECT_TRUE(hf_yields_are_left(&yields));
    uint64_t slept_ns = 0;
    for (int i = 0; hf_yields_are_left(&yields); i++) {
        ASSERT_LT(i, 1000);
        uint64_t length_ns = hf_yields_next_sleep(&yields);
        hf_yields_slept(&yields, length_ns);
        slept_ns += length_ns;
    }
    EXPECT_LT(slept_ns, uint64_t{HF_YIELDS_NS} + HF_YIELD_LONGEST_NS);
}

TEST(yield_policy, AreNotForAll) {
    hf_yields yields = hf_yields_begin(false);
    EXPECT_FALSE(hf_yields_are_left(&yields));
}

TEST(yield_policy, AreNotForWhoHoldsAnotherLock) {
    hf_thread_record *self = hf_self();
    EXPECT_TRUE(hf_may_yield(self, 0));
    hf_critical_enter(self);
    EXPECT_FALSE(hf_may_yield(self, 0));
    EXPECT_TRUE(hf_may_yield(self, 1)) << "than the one that it is about to give back";
    hf_critical_leave(self);
}

TEST(yield_policy, AreNotForWhoStandsInAQueue) {
    hf_thread_record *self = hf_self();
    hf_queue_tail tail = nullptr;
    hf_queue_enter(&tail, self);
    EXPECT_FALSE(hf_may_yield(self, 0));
    hf_queue_leave(&tail, self);
    EXPECT_TRUE(hf_may_yield(self, 0));
}

TEST(yield_policy, AreAsLongAsTheyWere) {
    hf_yields yields = hf_yields_begin(true);
    hf_yields_next_sleep(&yields);
    hf_yields_slept(&yields, uint64_t{1} << 40);
    EXPECT_FALSE(hf_yields_are_left(&yields)) << "the machine stood still";
}

} // namespace
