// SPDX-License-Identifier: MIT OR Apache-2.0
// The arithmetic of shares, with a given clock.
//
// Shown able to fail: hf_share_charge without `* per_tick` (CountsTimeByWeight); hf_share_come_back that does nothing
// (DoesNotSaveIdleTimeUp); hf_share_banned_until that forgets `inactive` (ABanEndsWithTheOthersActivity), or the
// comparison of what was used (NobodyIsBannedForClassesThatHaveUsedMore); hf_share_is_dead that is always false.
#include <gtest/gtest.h>

#include "lock/scl/share.h"

namespace holdfast::test {
namespace {

constexpr std::uint64_t inactive_after = 1000;

hf_share share_of_weight(std::uint32_t weight) {
    hf_share share{};
    hf_share_set_weight(&share, weight);
    return share;
}

hf_share_totals totals_of(std::initializer_list<const hf_share *> shares) {
    hf_share_totals totals = HF_SHARE_NO_TOTALS;
    for (const hf_share *share : shares)
        hf_share_add(&totals, share);
    return totals;
}

TEST(share, WeightsAreTheKernels) {
    EXPECT_EQ(hf_weight_of_nice(0), 1024u);
    EXPECT_EQ(hf_weight_of_nice(-3), 1991u);
    EXPECT_EQ(hf_weight_of_nice(-20), 88761u);
    EXPECT_EQ(hf_weight_of_nice(19), 15u);
    EXPECT_EQ(hf_weight_of_nice(-100), 88761u);
    EXPECT_EQ(hf_weight_of_nice(100), 15u);
    for (int nice = HF_NICE_MIN; nice < HF_NICE_MAX; nice++)
        EXPECT_GT(hf_weight_of_nice(nice), hf_weight_of_nice(nice + 1));
}

TEST(share, CountsTimeByWeight) {
    for (int nice = HF_NICE_MIN; nice <= HF_NICE_MAX; nice++) {
        std::uint32_t weight = hf_weight_of_nice(nice);
        hf_share share = share_of_weight(weight);
        hf_share_charge(&share, 1'000'000);
        double expected = 1e6 * 1024 / weight;
        EXPECT_NEAR(static_cast<double>(share.used), expected, expected * 0.002) << "nice " << nice;
    }
}

TEST(share, CountsLongSectionsWithoutOverflowAndNegativeOnesNot) {
    hf_share share = share_of_weight(15);
    hf_share_charge(&share, std::uint64_t(-5)); // the clock of another CPU
    EXPECT_EQ(share.used, 0u);
    hf_share_charge(&share, std::uint64_t{1} << 50);
    std::uint64_t once = share.used;
    EXPECT_GT(once, HF_SECTION_TICKS_MAX);
    hf_share_charge(&share, std::uint64_t{1} << 50);
    EXPECT_EQ(share.used, 2 * once);
}

TEST(share, DoesNotSaveIdleTimeUp) {
    hf_share share = share_of_weight(1024);
    share.used = 10;
    hf_share_come_back(&share, 500);
    EXPECT_EQ(share.used, 500u);
    hf_share_come_back(&share, 100);
    EXPECT_EQ(share.used, 500u) << "what was used is not forgiven";
}

TEST(share, NobodyIsBannedForOtherWaiters) {
    hf_share greedy = share_of_weight(1024), other = share_of_weight(1024);
    greedy.used = 1000;
    greedy.waiting = other.waiting = 1;
    hf_share_totals totals = totals_of({&greedy, &other});
    EXPECT_LE(hf_share_banned_until(&greedy, &totals, 0, 5000, inactive_after), 5000u);
}

TEST(share, NobodyIsBannedForClassesThatHaveUsedMore) {
    hf_share modest = share_of_weight(1024), other = share_of_weight(1024);
    hf_share_begin_slice(&modest, 5000);
    hf_share_charge(&modest, 1000);
    other.used = 1001;
    other.last_seen = 5000;
    modest.waiting = 1;
    hf_share_totals totals = totals_of({&modest, &other});
    EXPECT_LE(hf_share_banned_until(&modest, &totals, 0, 5000, inactive_after), 5000u);
}

TEST(share, ABanLastsUntilTheOthersHaveHadTheirChance) {
    // Half of the time is due to each: 300 ticks used cost 600, from the beginning of the slice.
    hf_share greedy = share_of_weight(1024), other = share_of_weight(1024);
    hf_share_begin_slice(&greedy, 5000);
    hf_share_charge(&greedy, 300);
    greedy.waiting = 1;
    other.last_seen = 5300;
    hf_share_totals totals = totals_of({&greedy, &other});
    EXPECT_EQ(totals.weight, 2048u);
    EXPECT_EQ(hf_share_banned_until(&greedy, &totals, 0, 5300, inactive_after), 5600u);
}

TEST(share, AHeavyClassIsBannedForLess) {
    hf_share heavy = share_of_weight(3 * 1024), light = share_of_weight(1024);
    hf_share_begin_slice(&heavy, 5000);
    hf_share_charge(&heavy, 300);
    heavy.waiting = 1;
    light.last_seen = 5300;
    hf_share_totals totals = totals_of({&heavy, &light});
    EXPECT_NEAR(static_cast<double>(hf_share_banned_until(&heavy, &totals, 0, 5300, inactive_after)), 5400, 5);
}

TEST(share, ABanEndsWithTheOthersActivity) {
    hf_share greedy = share_of_weight(1024), other = share_of_weight(1024);
    hf_share_begin_slice(&greedy, 5000);
    hf_share_charge(&greedy, 100'000);
    greedy.waiting = 1;
    other.last_seen = 104'500;
    hf_share_totals totals = totals_of({&greedy, &other});
    EXPECT_EQ(hf_share_banned_until(&greedy, &totals, 0, 105'000, inactive_after), 105'500u);
    EXPECT_TRUE(hf_share_is_active(&other, 105'499, inactive_after));
    EXPECT_FALSE(hf_share_is_active(&other, 105'500, inactive_after));
}

TEST(share, OneThatWaitsIsActiveForEver) {
    hf_share share = share_of_weight(1024);
    share.waiting = 1;
    EXPECT_TRUE(hf_share_is_active(&share, 1'000'000, inactive_after));
}

TEST(share, ADeadThreadDoesNotTakePart) {
    hf_thread_record record{};
    record.share_class = 8;
    hf_share share = share_of_weight(1024);
    share.own_class = 8;
    share.thread = &record;
    share.last_seen = 5000;
    EXPECT_TRUE(hf_share_is_active(&share, 5001, inactive_after));
    record.share_class = 0; // exited
    EXPECT_FALSE(hf_share_is_active(&share, 5001, inactive_after));
    record.share_class = 10; // and another thread has the record
    EXPECT_FALSE(hf_share_is_active(&share, 5001, inactive_after));
}

} // namespace
} // namespace holdfast::test
