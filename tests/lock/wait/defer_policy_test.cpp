// SPDX-License-Identifier: MIT OR Apache-2.0
// When a word is taken, and asked for (wait.P1), and when a lock is hot (wait.P2), on a clock and a count that the test
// sets.
//
// Shown able to fail, each by the test named: every lock hot, or none (TakesWhatItsOwnerComesBackForTooSeldom,
// LeavesItToWhoComesBack); `hot` found out at each look, or not rounded, or the window not begun anew
// (IsHotByWhatAWindowCounts); the first section counted (TheFirstSectionMayBeSlow), or waited for without end
// (NoReleaseIsAnAnswerToo); `seen` renewed at looks that find it held (AReleaseJustSeenIsNoNews); the slice never over
// (ASliceEnds); `since` not cut to 16 bits (ACountMayWrap); an age below zero taken for a great one
// (AClockMayBeBehind); asked without a release, or while it is hot, or at once again (AsksWhenItHasMissedARelease);
// a slice of its own for a thread that has left the lock alone before (TakesItsTurnAfterANap); `batches` not looked at
// (LeavesWhatIsNotHotWhereThatIsKnownToPay), or for a long slice (AShortSliceEnds), or without end
// (ThereIsAnEndToBatchesOfALockThatIsNotHot).
#include <gtest/gtest.h>

#include "holdfast/flexguard.h"
#include "lock/wait/defer_policy.h"
#include "thread/thread_record.h"

namespace {

constexpr uint64_t begin_ns = 1'000'000'000;

struct defer_policy : testing::Test {
    // A look, so long after the last, which has come after so many releases. Returns whether the word is taken.
    bool takes(uint64_t after_ns, unsigned more_releases) {
        now_ns += after_ns;
        releases = static_cast<hf_release_count>(releases + more_releases);
        if (hf_defer_barges_at_once(&defer, releases))
            return true;
        hf_defer_learn(&defer, true, releases, now_ns);
        return hf_defer_barges(&defer, now_ns);
    }

    void finds_it_held(uint64_t after_ns, unsigned more_releases) {
        now_ns += after_ns;
        releases = static_cast<hf_release_count>(releases + more_releases);
        hf_defer_learn(&defer, false, releases, now_ns);
    }

    bool asks() { return hf_defer_announces(&defer, releases, now_ns); }

    void begin(hf_release_count count) {
        releases = count;
        defer = hf_defer_begin(count, now_ns, HF_DEFER_SLICE_NS);
    }

    uint64_t now_ns = begin_ns;
    hf_release_count releases = 7;
    hf_defer defer = hf_defer_begin(7, begin_ns, HF_DEFER_SLICE_NS);
};

TEST_F(defer_policy, TakesWhatNobodyComesBackFor) {
    EXPECT_TRUE(takes(1, 0)) << "free since the first sample";
    begin(7);
    EXPECT_FALSE(takes(1, 1)) << "just released: its owner may come back";
    EXPECT_TRUE(takes(1, 0)) << "it has not";
}

TEST_F(defer_policy, TakesItsTurnAfterANap) {
    for (bool finds_out : {false, true}) {
        begin(7);
        hf_defer_after_yield(&defer, finds_out, releases, now_ns);
        finds_it_held(1, 1);
        EXPECT_TRUE(takes(1, 1)) << "although its owner comes back for it";
    }
}

TEST_F(defer_policy, FindsOutWhetherItIsStillHotAfterANapOnlyIfTold) {
    now_ns += HF_COLD_NS;
    hf_defer_after_yield(&defer, false, releases, now_ns);
    EXPECT_TRUE(defer.hot);
    now_ns += HF_COLD_NS;
    hf_defer_after_yield(&defer, true, releases, now_ns);
    EXPECT_FALSE(defer.hot) << "not released meanwhile";
}

TEST_F(defer_policy, AReleaseJustSeenIsNoNews) {
    finds_it_held(1, 1); // counted, and about to be let go
    EXPECT_FALSE(takes(1, 0));
}

TEST_F(defer_policy, LeavesItToWhoComesBack) {
    for (int sample = 0; sample < 100; sample++)
        EXPECT_FALSE(takes(HF_HOT_NS, 1));
}

TEST_F(defer_policy, TakesWhatItsOwnerComesBackForTooSeldom) {
    EXPECT_FALSE(takes(HF_HOT_NS, 1)) << "not known yet";
    EXPECT_TRUE(takes(HF_HOT_WINDOW_NS, 1));
    EXPECT_TRUE(hf_defer_barges_at_once(&defer, ++releases)) << "known now";
}

TEST_F(defer_policy, LeavesWhatIsNotHotWhereThatIsKnownToPay) {
    EXPECT_FALSE(takes(HF_HOT_NS, 1));
    defer.batches = true;
    for (int sample = 0; sample < 10; sample++)
        EXPECT_FALSE(takes(10 * HF_HOT_NS, 1));
    EXPECT_FALSE(defer.hot);
    EXPECT_FALSE(asks());
    EXPECT_GT(hf_pauses_before_next_sample(HF_PAUSES_MAX, &defer), static_cast<int>(HF_PAUSES_MAX));
    EXPECT_TRUE(takes(1, 0)) << "its owner has not come back";
}

TEST_F(defer_policy, AShortSliceEnds) {
    defer.batches = true;
    finds_it_held(HF_COLD_NS, 0);
    EXPECT_FALSE(takes(unsigned{HF_DEFER_SHORT_SLICE_NS} - unsigned{HF_COLD_NS} - 1, 10));
    EXPECT_TRUE(takes(1, 10));
}

TEST_F(defer_policy, ThereIsAnEndToBatchesOfALockThatIsNotHot) {
    uint64_t end_ns = now_ns + 2 * uint64_t{HF_DEFER_SLICE_NS};
    EXPECT_TRUE(hf_defer_has_time_for_batches(&defer, end_ns - 1));
    EXPECT_FALSE(hf_defer_has_time_for_batches(&defer, end_ns));
}

TEST_F(defer_policy, IsHotByWhatAWindowCounts) {
    finds_it_held(1, 1);
    finds_it_held(HF_HOT_WINDOW_NS - 1, 0);
    EXPECT_TRUE(defer.hot) << "too early to say";
    finds_it_held(1, 1);
    EXPECT_FALSE(defer.hot) << "P2";
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(defer.hot) << "those of before do not count";
    finds_it_held(10 * HF_HOT_NS + HF_HOT_NS / 2, 10);
    EXPECT_TRUE(defer.hot) << "rounded";
    finds_it_held(10 * HF_HOT_NS + HF_HOT_NS / 2 + 1, 10);
    EXPECT_FALSE(defer.hot);
}

TEST_F(defer_policy, TheFirstSectionMayBeSlow) {
    finds_it_held(HF_COLD_NS - 1, 0);
    EXPECT_TRUE(defer.hot);
    finds_it_held(0, 1);
    EXPECT_TRUE(defer.hot);
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(defer.hot);
}

TEST_F(defer_policy, NoReleaseIsAnAnswerToo) {
    finds_it_held(HF_COLD_NS, 0);
    EXPECT_FALSE(defer.hot);
    finds_it_held(HF_HOT_WINDOW_NS, 2);
    EXPECT_TRUE(defer.hot) << "and is not waited for again";
}

TEST_F(defer_policy, ASliceEnds) {
    EXPECT_FALSE(takes(HF_DEFER_SLICE_NS - 1, 2000));
    EXPECT_TRUE(takes(1, 1)) << "P1";
    EXPECT_TRUE(takes(HF_DEFER_SLICE_NS, 2000)) << "and stays over";
}

TEST_F(defer_policy, ACountMayWrap) {
    begin(UINT16_MAX - 1);
    finds_it_held(1, 1);
    finds_it_held(HF_HOT_WINDOW_NS, 1);
    EXPECT_FALSE(defer.hot);
}

TEST_F(defer_policy, AClockMayBeBehind) {
    now_ns -= 1;
    finds_it_held(0, 0);
    EXPECT_TRUE(defer.hot) << "no time has passed";
}

TEST_F(defer_policy, AsksWhenItHasMissedARelease) {
    finds_it_held(HF_HOT_WINDOW_NS, 0);
    finds_it_held(HF_ANNOUNCE_NS, 0);
    EXPECT_FALSE(asks()) << "one long section: no owner that comes back";
    finds_it_held(1, 1);
    EXPECT_TRUE(asks());
    finds_it_held(HF_ANNOUNCE_NS, 0);
    EXPECT_FALSE(asks()) << "no owner has come back since";
    finds_it_held(1, 1);
    EXPECT_TRUE(asks());
    finds_it_held(HF_ANNOUNCE_NS - 1, 1);
    EXPECT_FALSE(asks()) << "soon again";
    finds_it_held(1, 0);
    EXPECT_TRUE(asks());
}

TEST_F(defer_policy, DoesNotAskForAHotLock) {
    for (int sample = 0; sample < 100; sample++) {
        finds_it_held(HF_ANNOUNCE_NS, 1 + unsigned{HF_ANNOUNCE_NS} / unsigned{HF_HOT_NS});
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
