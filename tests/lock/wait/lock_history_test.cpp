// SPDX-License-Identifier: MIT OR Apache-2.0
// Which way a hot lock's waiters go, on a clock and a count that the test sets.
//
// Shown able to fail, each by the test named: the way never changed (TriesBothWays); the better way taken for the worse
// (KeepsWhatGetsItReleasedMoreOften); no windows for the worse one (SeesThatTheOtherWayHasBecomeBetter); a period that
// stays, or has no bound, or is set by every window (GoesOnTrying), or only grows
// (TriesAgainSoonWhatWasBetterThanExpected), or is not begun anew (AWindowForTheWorseWayMayEndUnseen); windows counted
// however late they end (AWindowThatNobodySawEndTellsNothing); `since` not cut to 16 bits (ACountMayWrap); the trial's
// lock not compared (TwoLocksTakeTurns); an age below zero taken for a great one (AClockMayBeBehind); an eighth more
// not asked for, or of a way that is not known, or of another's lock (BatchesClearlyPayWhereTheyGiveAnEighthMore); a
// turn without an end, or none (ATurnEnds); what is not hot left at first (IsTakenUntilItIsKnown), or with no least
// rate (IsTakenWhereItsOwnerWillNotBeBackSoon), or no greatest one (IsForOthersToLeaveWhereThatMakesItHot); a lock slow
// of which nothing is known, or not begun anew, or its windows too short or stale (ALockThatIsSlowIsKnownToBe); who
// comes told to poll always, to sleep without an eighth (IsTriedBothWays, SleepsWhereThatIsBetterByAnEighth), or for a
// hot lock (PollsForAHotLock); a lock slow by its sleepers' windows alone (PollsWhereOnlySleepsMakeItSlow), or for ever
// not slow (SleepsForASlowLock); a thread that was woken told to take always, or to sleep without an eighth, or
// whatever the rate, or to learn just after the other way, or from too long windows, or other locks'; a thread that
// comes told what was learnt while sleeps were tried, or nothing when they are better (lock_history_woken).
#include <gtest/gtest.h>
#include <utility>

#include "lock/wait/lock_history.h"

namespace {

struct lock_history : testing::Test {
    // A window passes in which the word is released so many times, as its way has it. Returns whether it was left.
    bool window(unsigned leaving, unsigned taking) { return window(leaving, taking, window_ns); }

    bool window(unsigned leaving, unsigned taking, uint64_t length_ns) {
        bool left = leaves(&history, &lock, releases, now_ns);
        EXPECT_EQ(left, leaves(&history, &lock, releases, now_ns + window_ns - 1)) << "one arm in a window";
        releases = static_cast<hf_release_count>(releases + (left ? leaving : taking));
        now_ns += length_ns;
        return left;
    }

    // Of so many windows, those in which the word was left.
    int left_of(int windows, unsigned leaving, unsigned taking) {
        int left = 0;
        for (int i = 0; i < windows; i++)
            left += window(leaving, taking);
        return left;
    }

    bool (*leaves)(hf_lock_history *, const void *, hf_release_count, uint64_t) = hf_history_defers;
    uint64_t window_ns = HF_HISTORY_WINDOW_NS;
    hf_lock_history history{};
    int lock{}, other{};
    uint64_t now_ns = 1'000'000'000;
    hf_release_count releases = 7;
};

TEST_F(lock_history, TriesBothWays) {
    EXPECT_TRUE(window(1000, 1000)) << "a batch costs little where it does not pay";
    EXPECT_FALSE(window(1000, 1000));
}

TEST_F(lock_history, KeepsWhatGetsItReleasedMoreOften) {
    left_of(2, 1000, 1200);
    EXPECT_LE(left_of(8, 1000, 1200), 1);
    history = {};
    left_of(2, 1200, 1000);
    EXPECT_GE(left_of(8, 1200, 1000), 7);
}

TEST_F(lock_history, SeesThatTheOtherWayHasBecomeBetter) {
    left_of(4 * HF_EXPLORE_PERIOD_MAX, 1000, 1200);
    left_of(2 * HF_EXPLORE_PERIOD_MAX, 1400, 1000);
    EXPECT_GE(left_of(HF_EXPLORE_PERIOD_MAX, 1400, 1000), HF_EXPLORE_PERIOD_MAX - 8);
}

TEST_F(lock_history, GoesOnTrying) {
    left_of(2, 1000, 1200);
    EXPECT_EQ(left_of(HF_EXPLORE_PERIOD_MIN + 1, 1000, 1200), 1);
    left_of(4 * HF_EXPLORE_PERIOD_MAX, 1000, 1200);
    EXPECT_EQ(left_of(HF_EXPLORE_PERIOD_MAX + 1, 1000, 1200), 1) << "but less often what is as bad as expected";
    EXPECT_EQ(left_of(HF_EXPLORE_PERIOD_MAX + 1, 1000, 1200), 1);
}

TEST_F(lock_history, TriesAgainSoonWhatWasBetterThanExpected) {
    left_of(4 * HF_EXPLORE_PERIOD_MAX, 1000, 1200);
    for (int windows = 0; !window(1300, 1200); windows++)
        ASSERT_LE(windows, HF_EXPLORE_PERIOD_MAX);
    EXPECT_EQ(left_of(HF_EXPLORE_PERIOD_MIN + 1, 1000, 1200), 1);
}

TEST_F(lock_history, AWindowThatNobodySawEndTellsNothing) {
    left_of(2, 1000, 1200);
    for (int i = 0; i < 64; i++)
        window(60'000, 0, HF_HISTORY_STALE_NS);
    EXPECT_LE(left_of(8, 1000, 1200), 1);
}

TEST_F(lock_history, AWindowForTheWorseWayMayEndUnseen) {
    left_of(2 + HF_EXPLORE_PERIOD_MIN, 1000, 1200);
    EXPECT_TRUE(window(1000, 1200, HF_HISTORY_STALE_NS));
    EXPECT_EQ(left_of(HF_EXPLORE_PERIOD_MIN + 1, 1000, 1200), 1) << "the next comes as soon as if it had been seen";
}

TEST_F(lock_history, ACountMayWrap) {
    releases = UINT16_MAX;
    left_of(2, 1000, 1200);
    EXPECT_LE(left_of(8, 1000, 1200), 1);
}

TEST_F(lock_history, AWindowWithoutAReleaseIsKnown) {
    EXPECT_TRUE(window(0, 0));
    EXPECT_FALSE(window(0, 0));
}

TEST_F(lock_history, TwoLocksTakeTurns) {
    left_of(2, 1000, 1200);
    EXPECT_FALSE(window(1000, 1200));
    EXPECT_TRUE(hf_history_defers(&history, &other, 0, now_ns)) << "not its history";
    EXPECT_FALSE(window(1000, 1200)) << "and still this one's";
    now_ns += HF_HISTORY_STALE_NS;
    EXPECT_TRUE(hf_history_defers(&history, &other, 0, now_ns));
    EXPECT_FALSE(hf_history_defers(&history, &other, 100, now_ns + window_ns)) << "now it is the other's";
}

TEST_F(lock_history, AClockMayBeBehind) {
    EXPECT_TRUE(window(1000, 1200));
    EXPECT_FALSE(hf_history_defers(&history, &lock, releases, now_ns));
    EXPECT_FALSE(hf_history_defers(&history, &lock, releases, now_ns - 1));
    EXPECT_EQ(history.since_ns, now_ns) << "the same window";
}

TEST_F(lock_history, BatchesClearlyPayWhereTheyGiveAnEighthMore) {
    EXPECT_FALSE(hf_history_batches_clearly_pay(&history, &lock)) << "nothing is known";
    left_of(2, 1200, 1000);
    EXPECT_FALSE(hf_history_batches_clearly_pay(&history, &lock)) << "only one arm is";
    left_of(8, 1200, 1000);
    EXPECT_TRUE(hf_history_batches_clearly_pay(&history, &lock));
    EXPECT_FALSE(hf_history_batches_clearly_pay(&history, &other));
    history = {};
    left_of(8, 1100, 1000);
    EXPECT_FALSE(hf_history_batches_clearly_pay(&history, &lock));
}

// The same for a lock that is not hot.
struct lock_history_unhot : lock_history {
    lock_history_unhot() { leaves = hf_history_defers_unhot; }
};

TEST_F(lock_history_unhot, IsTakenUntilItIsKnown) {
    EXPECT_FALSE(window(150, 100));
    EXPECT_TRUE(window(150, 100));
    EXPECT_GE(left_of(8, 150, 100), 7);
    EXPECT_FALSE(hf_history_defers_unhot(&history, &other, 0, now_ns - 1)) << "not its history";
}

TEST_F(lock_history_unhot, IsTakenWhereThatIsBetter) {
    EXPECT_LE(left_of(12, 100, 120), 2);
}

TEST_F(lock_history_unhot, IsTakenWhereItsOwnerWillNotBeBackSoon) {
    unsigned rare = HF_HISTORY_RATE_MIN / 10 - 1;
    EXPECT_EQ(left_of(64, 2 * rare, rare), 0);
    history = {};
    EXPECT_GT(left_of(64, 2 * rare + 4, rare + 2), 32);
}

TEST_F(lock_history_unhot, IsForOthersToLeaveWhereThatMakesItHot) {
    unsigned hot = HF_HISTORY_RATE_HOT / 10 + 10;
    left_of(2, hot, 100);
    EXPECT_FALSE(window(hot, 100));
    EXPECT_TRUE(hf_history_defers(&history, &lock, releases, now_ns));
}

// The same for threads that come, which poll ("leave") or sleep ("take").
struct lock_history_wait : lock_history {
    lock_history_wait() {
        leaves = [](hf_lock_history *trial_, const void *lock_, hf_release_count count, uint64_t at_ns) {
            return hf_history_may_find_it_hot(trial_, lock_, count, at_ns, true);
        };
        window_ns = HF_RATE_WINDOW_NS;
    }

    bool sleeps_in_window(unsigned polling, unsigned sleeping) { return !window(polling, sleeping); }
    int slept_in(int windows, unsigned polling, unsigned sleeping) {
        return windows - left_of(windows, polling, sleeping);
    }

    static constexpr unsigned slow = HF_RATE_WINDOW_NS / HF_RATE_SLOW_NS - 1;
    static constexpr unsigned hot = HF_RATE_WINDOW_NS / static_cast<unsigned>(HF_HOT_NS) + 10;
};

TEST_F(lock_history_wait, IsTriedBothWays) {
    EXPECT_FALSE(sleeps_in_window(500, 500));
    EXPECT_TRUE(sleeps_in_window(500, 500));
    EXPECT_FALSE(sleeps_in_window(500, 500)) << "who comes polls where it is the same";
}

TEST_F(lock_history_wait, SleepsWhereThatIsBetterByAnEighth) {
    slept_in(3, 500, 600);
    EXPECT_GE(slept_in(8, 500, 600), 7);
    history = {};
    slept_in(3, 500, 550);
    EXPECT_LE(slept_in(8, 500, 550), 1);
    EXPECT_LE(slept_in(4 * HF_EXPLORE_PERIOD_MAX, 500, 550), 12) << "the less often the longer that is known";
}

TEST_F(lock_history_wait, PollsForAHotLock) {
    EXPECT_EQ(slept_in(64, hot, hot), 0);
}

TEST_F(lock_history_wait, PollsWhereOnlySleepsMakeItSlow) {
    EXPECT_LE(slept_in(64, 2 * slow, slow), 8);
}

TEST_F(lock_history_wait, SleepsForASlowLock) {
    slept_in(3, 500, 500);
    for (int windows = 0; windows < 64; windows++, now_ns += HF_RATE_WINDOW_NS, releases += slow)
        leaves(&history, &lock, releases, now_ns);
    EXPECT_EQ(slept_in(8, slow, slow), 8) << "though it was not slow before";
}

TEST_F(lock_history, ALockThatIsSlowIsKnownToBe) {
    bool known = false;
    auto comes = [&](const void *lock_, uint64_t after_ns, unsigned more_releases) {
        now_ns += after_ns;
        releases = static_cast<hf_release_count>(releases + more_releases);
        hf_explore_begin(&history.wait, HF_HISTORY_POLL, 0, HF_EXPLORE_PERIOD_MIN);
        history.wait.rate[HF_HISTORY_SLEEP] = 1; // the thread that comes to a lock that is not slow polls
        bool hot = hf_history_may_find_it_hot(&history, lock_, releases, now_ns, true);
        known = hot == hf_history_may_find_it_hot(&history, lock_, releases, now_ns, false);
        return !hot;
    };
    constexpr unsigned slow = HF_RATE_WINDOW_NS / HF_RATE_SLOW_NS - 1, not_slow = slow + 2;
    EXPECT_FALSE(comes(&lock, 0, 1));
    EXPECT_FALSE(comes(&lock, HF_RATE_WINDOW_NS - 1, slow));
    EXPECT_FALSE(known);
    EXPECT_TRUE(comes(&lock, 1, 0));
    EXPECT_TRUE(known);
    EXPECT_TRUE(comes(&lock, 0, 5 * slow)) << "no window has passed";
    EXPECT_FALSE(comes(&other, 0, 0)) << "not its history";
    EXPECT_FALSE(comes(&lock, HF_RATE_WINDOW_NS, 0)) << "it was released more often since";
    EXPECT_FALSE(comes(&lock, HF_RATE_WINDOW_NS, not_slow));
    EXPECT_TRUE(known);
    EXPECT_TRUE(comes(&lock, HF_RATE_WINDOW_NS, slow));
    EXPECT_FALSE(comes(&lock, HF_RATE_STALE_NS, 0)) << "the count may have wrapped";
    EXPECT_TRUE(comes(&lock, HF_RATE_WINDOW_NS, 0));
    now_ns -= 1;
    EXPECT_TRUE(comes(&lock, 0, 0)) << "a clock may be behind";
    EXPECT_FALSE(comes(&other, HF_HISTORY_STALE_NS, 0));
    EXPECT_FALSE(comes(&lock, 0, 0)) << "it is the other's now";
}

// The same for threads that were woken.
struct lock_history_woken : lock_history {
    lock_history_woken() { begin(); }

    void begin() {
        hf_history_begin(&history, &lock, releases, now_ns, HF_HISTORY_BARGE);
        slept_before = false;
    }

    bool yields() const { return hf_history_lets_woken_sleep(&history, &lock, now_ns); }
    void pass(uint64_t ns, unsigned in_a_millisecond) {
        now_ns += ns;
        releases = static_cast<hf_release_count>(releases + in_a_millisecond * ns / 1'000'000);
        hf_history_sample_after_sleep(&history, &lock, releases, now_ns);
    }

    // A window passes. Whether who was woken in it slept.
    bool sleeps_in_window(unsigned sleeping, unsigned taking) {
        bool did = yields();
        unsigned rate = did ? sleeping : taking;
        if (did != std::exchange(slept_before, did))
            pass(HF_HISTORY_WOKEN_SETTLES_NS, before != 0 ? before : rate);
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(yields(), did) << "one arm in a window";
            pass(HF_HISTORY_WOKEN_WINDOW_NS / 3, rate);
        }
        return did;
    }
    int sleeps_in(int windows, unsigned sleeping, unsigned taking) {
        int slept = 0;
        for (int i = 0; i < windows; i++)
            slept += sleeps_in_window(sleeping, taking);
        return slept;
    }

    bool slept_before = false;
    unsigned before = 0; // the rate before a window for the other way; 0: as in it
};

TEST_F(lock_history_woken, IsTriedBothWays) {
    EXPECT_FALSE(sleeps_in_window(1000, 1000));
    EXPECT_TRUE(sleeps_in_window(1000, 1000));
    EXPECT_FALSE(sleeps_in_window(1000, 1000)) << "it takes the word where it is the same";
}

TEST_F(lock_history_woken, SleepsWhereThatIsBetterByAnEighth) {
    sleeps_in(2, 1200, 1000);
    EXPECT_GE(sleeps_in(8, 1200, 1000), 7);
    begin();
    sleeps_in(2, 1100, 1000);
    EXPECT_LE(sleeps_in(8, 1100, 1000), 1);
}

TEST_F(lock_history_woken, TakesAWordWhoseOwnerIsNotBackSoonOrAtOnce) {
    EXPECT_EQ(sleeps_in(32, 2 * HF_HISTORY_RATE_MIN, HF_HISTORY_RATE_MIN - 2), 0);
    begin();
    EXPECT_EQ(sleeps_in(32, 2 * HF_HISTORY_RATE_HOT, HF_HISTORY_RATE_HOT), 0);
}

TEST_F(lock_history_woken, WhatComesFirstAfterAnotherWayTellsNothing) {
    before = 6000;
    for (int i = 0; i < 4 * HF_HISTORY_WOKEN_PERIOD_MIN; i++)
        sleeps_in_window(800, 1000);
    EXPECT_EQ(hf_explore_rate(&history.woken, HF_HISTORY_WOKEN_BARGES), 1001u);
    EXPECT_EQ(hf_explore_rate(&history.woken, HF_HISTORY_WOKEN_SLEEPS), 801u);
}

TEST_F(lock_history_woken, NothingIsLearntOfWhoComesWhileSleepsAreTried) {
    before = 6000;
    sleeps_in_window(3000, 5000);
    for (int i = 0; i < 4 * HF_HISTORY_WOKEN_PERIOD_MIN; i++) {
        sleeps_in_window(3000, 5000);
        for (unsigned arm : {HF_HISTORY_POLL, HF_HISTORY_SLEEP})
            EXPECT_NEAR(hf_explore_rate(&history.wait, arm), 5001, 10);
    }
    sleeps_in(2 * HF_EXPLORE_PERIOD_MAX, 6000, 5000);
    EXPECT_TRUE(yields());
    EXPECT_GT(hf_explore_rate(&history.wait, HF_HISTORY_POLL), 5900u) << "but when they are known to be better";
}

TEST_F(lock_history_woken, AWindowThatIsTooLongTellsNothing) {
    sleeps_in(2, 1200, 1000);
    ASSERT_TRUE(yields());
    for (int i = 0; i < 64; i++)
        pass(HF_HISTORY_WOKEN_STALE_NS, 1);
    EXPECT_GE(sleeps_in(8, 1200, 1000), 7);
}

TEST_F(lock_history_woken, NobodySleepsForALockThatWasNotLookedAtForLong) {
    sleeps_in(2, 1200, 1000);
    EXPECT_TRUE(yields());
    EXPECT_FALSE(hf_history_lets_woken_sleep(&history, &other, now_ns));
    EXPECT_FALSE(hf_history_lets_woken_sleep(&history, &lock, now_ns + HF_HISTORY_WOKEN_STALE_NS));
    hf_history_sample_after_sleep(&history, &other, releases, now_ns + HF_HISTORY_WOKEN_STALE_NS);
    EXPECT_FALSE(hf_history_lets_woken_sleep(&history, &lock, now_ns + HF_HISTORY_WOKEN_STALE_NS))
        << "another lock's sample";
}

TEST_F(lock_history, ATurnEnds) {
    EXPECT_TRUE(hf_history_turn_is_over(&history, now_ns));
    hf_history_begin_turn(&history, now_ns);
    EXPECT_FALSE(hf_history_turn_is_over(&history, now_ns - 1)) << "another CPU's clock";
    EXPECT_FALSE(hf_history_turn_is_over(&history, now_ns + HF_HISTORY_TURN_NS - 1));
    EXPECT_TRUE(hf_history_turn_is_over(&history, now_ns + HF_HISTORY_TURN_NS));
    hf_history_begin(&history, &other, 0, now_ns, HF_HISTORY_DEFER);
    EXPECT_TRUE(hf_history_turn_is_over(&history, now_ns)) << "another lock's";
}

} // namespace
