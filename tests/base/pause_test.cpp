// SPDX-License-Identifier: MIT OR Apache-2.0
// How many pauses a rest has, and that loading the library has measured it.
//
// Shown able to fail, each by the test named: the quotient turned over, or cut off in place of rounded
// (AsManyPausesAsLastSoLong); no bounds (IsBounded); no constructor, on a processor with short pauses
// (WasMeasuredWhenLoaded).
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/pause.h"

namespace {

TEST(rest, AsManyPausesAsLastSoLong) {
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 64 * HF_TIMED_PAUSE_NS), 1U);
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 64 * HF_TIMED_PAUSE_NS / 4), 4U);
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 64 * 37), 1U);
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 64 * 14), 3U) << "2.86";
}

TEST(rest, IsBounded) {
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 0), HF_PAUSES_A_TIMED_PAUSE_MAX) << "a clock that stands still";
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, 1), HF_PAUSES_A_TIMED_PAUSE_MAX);
    EXPECT_EQ(hf_pauses_in_a_timed_pause(64, UINT64_C(64) * 1000 * 1000 * 1000), 1U) << "preempted";
}

// No bound from above: a thread may be away for as long as it likes.
TEST(rest, WasMeasuredWhenLoaded) {
    constexpr int rests = 1000;
    uint64_t begin_ns = hf_monotonic_ns();
    for (int i = 0; i < rests; i++)
        hf_timed_pause();
    uint64_t took_ns = hf_monotonic_ns() - begin_ns;
    EXPECT_TRUE(hf_pauses_a_timed_pause == HF_PAUSES_A_TIMED_PAUSE_MAX || took_ns >= rests * HF_TIMED_PAUSE_NS / 2)
        << hf_pauses_a_timed_pause << " pauses a rest, " << took_ns << " ns for " << rests;
}

} // namespace
