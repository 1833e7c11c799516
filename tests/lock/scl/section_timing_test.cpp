// SPDX-License-Identifier: MIT OR Apache-2.0
// Which sections are timed, and what they count, with a given clock (uscl.U7).
//
// Shown able to fail: sections that stand for one always (CountsRightOnTheAverage); hf_timing_draw that always takes
// the last one of a block (CountsWhatReturnsWithThePeriodOfABlock); hf_timing_next that does not look at the elapsed
// time (TimesEveryOneAfterALongOne...), never raises quick_needed (LongOnesAmongQuickOnesAreTimed), or does not look
// at the slice's end (LeavesNoneUntimedAtTheSlicesEnd); hf_timing_ticks that does not look at it (BeyondItsSlice...).
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "lock/scl/section_timing.h"

namespace holdfast::test {
namespace {

// As u-SCL's ways in and out have it (uscl_lock.h).
class owner {
public:
    static constexpr std::uint64_t slice = 1'000'000;

    hf_section_timing timing{};
    hf_share share{};
    std::uint64_t now = 1'000'000'000;
    std::uint64_t counted = 0, held = 0, timed = 0, untimed_in_a_row = 0, longest_untimed = 0;

    explicit owner() { begin(); }
    void begin(std::uint64_t length = slice) {
        hf_timing_begin_slice(&timing, &share, now, now + length);
        untimed_ = 0;
    }
    std::uint64_t quick() const { return timing.quick_ticks; }
    bool is_over() const { return now >= timing.slice_end; }

    // Is it timed?
    bool section(std::uint64_t ticks, std::uint64_t pause) {
        std::uint64_t began = now;
        bool is_timed = untimed_ == 0;
        now += ticks;
        held += ticks;
        if (is_timed) {
            counted += hf_timing_ticks(&timing, began, now, timing.stands_for);
            untimed_ = hf_timing_next(&timing, &share, began, now);
            timed++;
            untimed_in_a_row = 0;
        } else {
            untimed_--;
            longest_untimed = std::max(longest_untimed, ++untimed_in_a_row);
        }
        now += pause;
        return is_timed;
    }
    void quick_sections(int count) {
        for (int i = 0; i < count; i++)
            section(quick() / 4, quick() / 4);
    }

private:
    std::uint32_t untimed_ = 0;
};

TEST(section_timing, TimesOneOfABlock) {
    owner one;
    one.begin(owner::slice * 1000);
    one.quick_sections(HF_QUICK_NEEDED_MIN);
    EXPECT_EQ(one.timed, unsigned{HF_QUICK_NEEDED_MIN}) << "at first every one";
    constexpr unsigned blocks = 1000;
    one.quick_sections(HF_TIMING_BLOCK * blocks);
    EXPECT_NEAR(double(one.timed), HF_QUICK_NEEDED_MIN + blocks, 1);
    EXPECT_EQ(one.longest_untimed, 2u * HF_TIMING_BLOCK - 2);
}

TEST(section_timing, TimesEveryOneThatIsNotQuick) {
    owner one;
    one.begin(owner::slice * 1000);
    for (int i = 0; i < 1000; i++)
        EXPECT_TRUE(one.section(one.quick() / 2, one.quick() - one.quick() / 2 + 1));
}

TEST(section_timing, CountsRightOnTheAverage) {
    owner one;
    std::mt19937 random(1);
    std::uniform_int_distribution<std::uint64_t> ticks(1, one.quick() / 2);
    for (int i = 0; i < 200'000; i++) {
        if (one.is_over())
            one.begin();
        one.section(ticks(random), one.quick() / 8);
    }
    EXPECT_LT(one.timed, 60'000u);
    EXPECT_NEAR(double(one.counted) / double(one.held), 1, 0.03);
}

TEST(section_timing, CountsWhatReturnsWithThePeriodOfABlock) {
    owner one;
    for (int i = 0; i < 200'000; i++) {
        if (one.is_over())
            one.begin();
        one.section(i % HF_TIMING_BLOCK == 0 ? one.quick() / 2 : 1, one.quick() / 8);
    }
    EXPECT_LT(one.timed, 60'000u);
    EXPECT_NEAR(double(one.counted) / double(one.held), 1, 0.05);
}

TEST(section_timing, TimesEveryOneAfterALongOneOrAPause) {
    for (bool pause : {false, true}) {
        owner one;
        one.begin(owner::slice * 1000);
        one.quick_sections(HF_QUICK_NEEDED_MIN + 100);
        std::uint64_t length = one.quick() * HF_TIMING_BLOCK * 2;
        one.section(pause ? 1 : length, pause ? length : 1);
        while (!one.section(1, 1)) // the next one that is timed sees it
            continue;
        for (int i = 1; i < HF_QUICK_NEEDED_MIN; i++)
            EXPECT_TRUE(one.section(1, 1));
        one.quick_sections(100);
        EXPECT_GT(one.longest_untimed, 0u);
    }
}

// A millisecond now and then among quick ones: a few are met by chance, and count too much or nothing; then they are
// timed, and all but what they were off by at first is right.
TEST(section_timing, LongOnesAmongQuickOnesAreTimed) {
    owner one;
    std::uint64_t length = owner::slice / 20;
    unsigned long_ones = 0, timed = 0;
    for (int burst = 0; burst < 20'000; burst++) {
        for (int i = 0; i < 3 * HF_QUICK_NEEDED_MIN; i++) {
            if (one.is_over())
                one.begin();
            one.section(one.quick() / 4, one.quick() / 4);
        }
        long_ones++;
        timed += one.section(length, 1);
    }
    EXPECT_GT(timed, long_ones / 2);
    EXPECT_NEAR(double(one.counted) / double(one.held), 1, 0.05);
}

TEST(section_timing, LeavesNoneUntimedAtTheSlicesEnd) {
    for (std::uint64_t length = 1; length < 200; length++) {
        owner one;
        one.begin((HF_QUICK_NEEDED_MIN + length) * one.quick());
        while (!one.is_over())
            one.section(one.quick() / 2, one.quick() / 2);
        EXPECT_TRUE(one.section(1, 0)) << length;
    }
}

TEST(section_timing, BeyondItsSliceASectionCountsOnce) {
    hf_section_timing timing{};
    timing.slice_end = 1000;
    EXPECT_EQ(hf_timing_ticks(&timing, 900, 950, 8), 8u * 50);
    EXPECT_EQ(hf_timing_ticks(&timing, 900, 5000, 8), 8u * 100 + 4000);
    EXPECT_EQ(hf_timing_ticks(&timing, 2000, 5000, 8), 3000u);
    EXPECT_EQ(hf_timing_ticks(&timing, 900, 5000, 1), 4100u);
    EXPECT_LT(std::int64_t(hf_timing_ticks(&timing, 900, 899, 8)), 0) << "counts nothing: hf_share_charge";
}

} // namespace
} // namespace holdfast::test
