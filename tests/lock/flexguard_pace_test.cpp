// SPDX-License-Identifier: MIT OR Apache-2.0
// When a free word is taken (P1), and when a lock is hot (P2), on a clock and a count that the test sets.
//
// Shown able to fail, each by the test named: a pace that does not look whether the lock is hot, or keeps the pauses of
// before (LeavesItToWhoComesBack); one that counts only the last pauses (TakesWhatItsOwnerComesBackForTooSeldom); the
// slice never over (ASliceEnds); `*seen` not renewed (ACountMayWrap), or >= made >
// (ALockIsHotWhileReleasesCome); `since` not cut to 16 bits (AHotLocksCountMayWrap).
#include <gtest/gtest.h>

#include "holdfast/flexguard.h"
#include "lock/flexguard_pace.h"
#include "thread/thread_record.h"

namespace {

constexpr uint64_t begin_ns = 1'000'000'000;

// A look that finds the word free, so many pauses after the last.
bool takes(hf_pace &pace, unsigned pauses, hf_release_count releases, uint64_t now_ns) {
    hf_pace_paused(&pace, pauses);
    return hf_pace_takes(&pace, releases, now_ns);
}

TEST(flexguard_pace, TakesWhatNobodyComesBackFor) {
    hf_pace pace = hf_pace_begin(7, begin_ns);
    EXPECT_TRUE(takes(pace, 1, 7, begin_ns + 1)) << "free since the first look";
    pace = hf_pace_begin(7, begin_ns);
    EXPECT_FALSE(takes(pace, 1, 8, begin_ns + 1)) << "just released: its owner may come back";
    EXPECT_TRUE(takes(pace, 1, 8, begin_ns + 2)) << "it has not";
}

TEST(flexguard_pace, LeavesItToWhoComesBack) {
    hf_pace pace = hf_pace_begin(0, begin_ns);
    for (hf_release_count releases = 8; releases < 800; releases += 8)
        EXPECT_FALSE(takes(pace, 8 * HF_HOT_PAUSES, releases, begin_ns + releases));
}

TEST(flexguard_pace, TakesWhatItsOwnerComesBackForTooSeldom) {
    hf_pace pace = hf_pace_begin(0, begin_ns);
    EXPECT_TRUE(takes(pace, HF_HOT_PAUSES + 1, 1, begin_ns + 1));
    hf_pace_paused(&pace, HF_HOT_PAUSES); // and found it held
    EXPECT_TRUE(takes(pace, 1, 2, begin_ns + 2));
}

TEST(flexguard_pace, ASliceEnds) {
    hf_pace pace = hf_pace_begin(0, begin_ns);
    EXPECT_FALSE(takes(pace, 1, 1, begin_ns + HF_PACE_SLICE_NS - 1));
    EXPECT_TRUE(takes(pace, 1, 2, begin_ns + HF_PACE_SLICE_NS)) << "P1";
    EXPECT_TRUE(takes(pace, 1, 3, begin_ns + 2 * HF_PACE_SLICE_NS)) << "and stays over";
}

TEST(flexguard_pace, ACountMayWrap) {
    hf_pace pace = hf_pace_begin(UINT16_MAX, begin_ns);
    EXPECT_FALSE(takes(pace, 1, 0, begin_ns + 1));
    EXPECT_TRUE(takes(pace, 2 * HF_HOT_PAUSES, 1, begin_ns + 2));
}

TEST(flexguard_pace, ALockIsHotWhileReleasesCome) {
    hf_release_count seen = 7;
    EXPECT_TRUE(hf_lock_is_hot(&seen, 15, 8 * HF_HOT_PAUSES)) << "as many as it takes";
    EXPECT_FALSE(hf_lock_is_hot(&seen, 22, 8 * HF_HOT_PAUSES)) << "P2: one less";
    EXPECT_FALSE(hf_lock_is_hot(&seen, 22, 1)) << "P2: those of before do not count";
    EXPECT_TRUE(hf_lock_is_hot(&seen, 23, 1));
}

TEST(flexguard_pace, AHotLocksCountMayWrap) {
    hf_release_count seen = UINT16_MAX;
    EXPECT_TRUE(hf_lock_is_hot(&seen, 1, 2 * HF_HOT_PAUSES));
    seen = UINT16_MAX;
    EXPECT_FALSE(hf_lock_is_hot(&seen, 0, 2 * HF_HOT_PAUSES));
}

// Shown able to fail: without the count in hf_flexguard_give.
TEST(flexguard_pace, EachReleaseIsCounted) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    for (int use = 0; use < 5; use++) {
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
    }
    EXPECT_EQ(lock.releases, 5);
}

} // namespace
