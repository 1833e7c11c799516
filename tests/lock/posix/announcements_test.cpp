// SPDX-License-Identifier: MIT OR Apache-2.0
// When a writer that spins announces a sleeper (lock/posix/announcements.h).
//
// Shown able to fail: one that announces whether the lock was released or not (NobodyIsCalledForAHolderThatIsInside),
// with each poll after the first announcement (OnceForSoManyPolls), or never (OnceForSoManyPolls);
// one that takes a new budget for no polls (ANewBudget...).
#include <gtest/gtest.h>

#include "lock/posix/announcements.h"

namespace {

class announcements : public testing::Test {
protected:
    hf_release_count releases = UINT16_MAX; // it wraps
    int polls_left = HF_SPIN_BUDGET_POLLS;
    hf_rw_announcements counted = hf_rw_announcements_begin(polls_left, &releases);

    int announced_in(int polls, bool is_released) {
        int announced = 0;
        for (int poll = 0; poll < polls; poll++) {
            releases = static_cast<hf_release_count>(releases + is_released);
            announced += hf_rw_announces(&counted, --polls_left, &releases);
        }
        return announced;
    }
};

TEST_F(announcements, OnceForSoManyPolls) {
    EXPECT_EQ(announced_in(HF_RW_ANNOUNCE_POLLS - 1, true), 0);
    EXPECT_EQ(announced_in(1, true), 1);
    EXPECT_EQ(announced_in(10 * HF_RW_ANNOUNCE_POLLS, true), 10);
}

TEST_F(announcements, NobodyIsCalledForAHolderThatIsInside) {
    EXPECT_EQ(announced_in(10 * HF_RW_ANNOUNCE_POLLS, false), 0);
    releases++;
    EXPECT_EQ(announced_in(HF_RW_ANNOUNCE_POLLS, false), 1) << "one release is enough";
    EXPECT_EQ(announced_in(HF_RW_ANNOUNCE_POLLS, false), 0) << "and is good for one";
}

// Whose polls begin anew, since the lock was released.
TEST_F(announcements, ANewBudgetIsTimeForOne) {
    EXPECT_EQ(announced_in(HF_RW_ANNOUNCE_POLLS, true), 1);
    polls_left = HF_SPIN_BUDGET_POLLS + 1;
    EXPECT_EQ(announced_in(1, true), 1);
    EXPECT_EQ(announced_in(HF_RW_ANNOUNCE_POLLS - 1, true), 0);
    EXPECT_EQ(announced_in(1, true), 1);
}

} // namespace
