// SPDX-License-Identifier: MIT OR Apache-2.0
// When a word is taken, and asked for (P1), and when a lock is hot (P2), on a clock and a count that the test sets.
//
// Shown able to fail, each by the test named: every lock hot, or none (TakesWhatItsOwnerComesBackForTooSeldom,
// LeavesItToWhoComesBack); `hot` found out at each look, or not rounded, or the window not begun anew
// (IsHotByWhatAWindowCounts); the first section counted (TheFirstSectionMayBeSlow), or waited for without end
// (NoReleaseIsAnAnswerToo); `seen` renewed at looks that find it held (AReleaseJustSeenIsNoNews); the slice never over
// (ASliceEnds); `since` not cut to 16 bits (ACountMayWrap); an age below zero taken for a great one
// (AClockMayBeBehind); asked without a release, or while it is hot, or at once again (AsksWhenItHasMissedARelease);
// a slice of its own for who has left the lock alone before (TakesItsTurnAfterANap); `batches` not looked at
// (LeavesWhatIsNotHotWhereThatIsKnownToPay), or for a long slice (AShortSliceEnds), or without end
// (ThereIsAnEndToBatchesOfALockThatIsNotHot).
#include <gtest/gtest.h>

#include "holdfast/flexguard.h"
#include "lock/wait/defer_policy.h"
#include "thread/thread_record.h"

namespace {

constexpr uint64_t begin_ns = 1'000'000'000;

struct flexguard_pace : testing::Test {
    // A look, so long after the last, which has come after so many releases. Returns whether the word is taken.
    bool takes(uint64_t after_ns, unsigned more_releases) {
        now_ns += after_ns;
        releases = static_cast<hf_release_count>(releases + more_releases);
        if (hf_pace_takes_at_once(&pace, releases))
            return true;
        hf_pace_learn(&pace, true, releases, now_ns);
        return hf_pace_takes(&pace, now_ns);
    }

    void finds_it_held(uint64_t after_ns, unsigned more_releases) {
        now_ns += after_ns;
        releases = static_cast<hf_release_count>(releases + more_releases);
        hf_pace_learn(&pace, false, releases, now_ns);
    }

    bool asks() { return hf_pace_asks(&pace, releases, now_ns); }

    void begin(hf_release_count count) {
        releases = count;
        pace = hf_pace_begin(count, now_ns);
    }

    uint64_t now_ns = begin_ns;
    hf_release_count releases = 7;
    hf_pace pace = hf_pace_begin(7, begin_ns);
};

TEST_F(flexguard_pace, TakesWhatNobodyComesBackFor) {
    EXPECT_TRUE(takes(1, 0)) << "free since the first look";
    begin(7);
    EXPECT_FALSE(takes(1, 1)) << "just released: its owner may come back";
    EXPECT_TRUE(takes(1, 0)) << "it has not";
}

TEST_F(flexguard_pace, TakesItsTurnAfterANap) {
    pace = hf_pace_begin_after_slice(releases, now_ns);
    finds_it_held(1, 1);
    EXPECT_TRUE(takes(1, 1)) << "although its owner comes back for it";
}

TEST_F(flexguard_pace, AReleaseJustSeenIsNoNews) {
    finds_it_held(1, 1); // counted, and about to be let go
    EXPECT_FALSE(takes(1, 0));
}

TEST_F(flexguard_pace, LeavesItToWhoComesBack) {
    for (int look = 0; look < 100; look++)
        EXPECT_FALSE(takes(HF_HOT_NS, 1));
}

TEST_F(flexguard_pace, TakesWhatItsOwnerComesBackForTooSeldom) {
    EXPECT_FALSE(takes(HF_HOT_NS, 1)) << "not known yet";
    EXPECT_TRUE(takes(HF_HOT_WINDOW_NS, 1));
    EXPECT_TRUE(hf_pace_takes_at_once(&pace, ++releases)) << "known now";
}

TEST_F(flexguard_pace, LeavesWhatIsNotHotWhereThatIsKnownToPay) {
    EXPECT_FALSE(takes(HF_HOT_NS, 1));
    pace.batches = true;
    for (int look = 0; look < 10; look++)
        EXPECT_FALSE(takes(10 * HF_HOT_NS, 1));
    EXPECT_FALSE(pace.hot);
    EXPECT_FALSE(asks());
    EXPECT_GT(hf_rests_before_next_look(HF_RESTS_MAX, &pace), static_cast<int>(HF_RESTS_MAX));
    EXPECT_TRUE(takes(1, 0)) << "its owner has not come back";
}

TEST_F(flexguard_pace, AShortSliceEnds) {
    pace.batches = true;
    finds_it_held(HF_COLD_NS, 0);
    EXPECT_FALSE(takes(unsigned{HF_PACE_SHORT_SLICE_NS} - unsigned{HF_COLD_NS} - 1, 10));
    EXPECT_TRUE(takes(1, 10));
}

TEST_F(flexguard_pace, ThereIsAnEndToBatchesOfALockThatIsNotHot) {
    uint64_t end_ns = now_ns + 2 * uint64_t{HF_PACE_SLICE_NS};
    EXPECT_TRUE(hf_pace_has_time_for_batches(&pace, end_ns - 1));
    EXPECT_FALSE(hf_pace_has_time_for_batches(&pace, end_ns));
}

TEST_F(flexguard_pace, IsHotByWhatAWindowCounts) {
    finds_it_held(1, 1);
    finds_it_held(HF_HOT_WINDOW_NS - 1, 0);
    EXPECT_TRUE(pace.hot) << "too early to say";
    finds_it_held(1, 1);
    EXPECT_FALSE(pace.hot) << "P2";
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(pace.hot) << "those of before do not count";
    finds_it_held(10 * HF_HOT_NS + HF_HOT_NS / 2, 10);
    EXPECT_TRUE(pace.hot) << "rounded";
    finds_it_held(10 * HF_HOT_NS + HF_HOT_NS / 2 + 1, 10);
    EXPECT_FALSE(pace.hot);
}

TEST_F(flexguard_pace, TheFirstSectionMayBeSlow) {
    finds_it_held(HF_COLD_NS - 1, 0);
    EXPECT_TRUE(pace.hot);
    finds_it_held(0, 1);
    EXPECT_TRUE(pace.hot);
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(pace.hot);
}

TEST_F(flexguard_pace, NoReleaseIsAnAnswerToo) {
    finds_it_held(HF_COLD_NS, 0);
    EXPECT_FALSE(pace.hot);
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(pace.hot) << "and is not waited for again";
}

TEST_F(flexguard_pace, ASliceEnds) {
    EXPECT_FALSE(takes(HF_PACE_SLICE_NS - 1, 2000));
    EXPECT_TRUE(takes(1, 1)) << "P1";
    EXPECT_TRUE(takes(HF_PACE_SLICE_NS, 2000)) << "and stays over";
}

TEST_F(flexguard_pace, ACountMayWrap) {
    begin(UINT16_MAX - 1);
    finds_it_held(1, 1);
    finds_it_held(HF_HOT_WINDOW_NS, 1);
    EXPECT_FALSE(pace.hot);
}

TEST_F(flexguard_pace, AClockMayBeBehind) {
    now_ns -= 1;
    finds_it_held(0, 0);
    EXPECT_TRUE(pace.hot) << "no time has passed";
}

TEST_F(flexguard_pace, AsksWhenItHasMissedARelease) {
    finds_it_held(HF_HOT_WINDOW_NS, 0);
    finds_it_held(HF_ASK_NS, 0);
    EXPECT_FALSE(asks()) << "one long section: no owner that comes back";
    finds_it_held(1, 1);
    EXPECT_TRUE(asks());
    finds_it_held(HF_ASK_NS, 0);
    EXPECT_FALSE(asks()) << "no owner has come back since";
    finds_it_held(1, 1);
    EXPECT_TRUE(asks());
    finds_it_held(HF_ASK_NS - 1, 1);
    EXPECT_FALSE(asks()) << "soon again";
    finds_it_held(1, 0);
    EXPECT_TRUE(asks());
}

TEST_F(flexguard_pace, DoesNotAskForAHotLock) {
    for (int look = 0; look < 100; look++) {
        finds_it_held(HF_ASK_NS, 1 + unsigned{HF_ASK_NS} / unsigned{HF_HOT_NS});
        EXPECT_FALSE(asks());
    }
}

// Shown able to fail: without the count in hf_flexguard_release.
TEST(flexguard_releases, EachReleaseIsCounted) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    for (int use = 0; use < 5; use++) {
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
    }
    EXPECT_EQ(lock.releases, 5);
}

} // namespace
