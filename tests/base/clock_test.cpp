// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include "base/clock.h"

namespace {

// Both clocks are read around the same busy wait; a preemption between the readings can part them, so the best of some
// tries counts.
TEST(clock, TicksAgreeWithMonotonicTime) {
    double best_error = 1;
    for (int attempt = 0; attempt < 10; attempt++) {
        std::uint64_t ticks_from = hf_ticks(), ns_from = hf_monotonic_ns();
        while (hf_monotonic_ns() - ns_from < 5'000'000)
            continue;
        std::uint64_t ticks = hf_ticks() - ticks_from, ns = hf_monotonic_ns() - ns_from;
        double measured_ns = static_cast<double>(ticks) * hf_tick_ns();
        best_error = std::min(best_error, std::abs(measured_ns / static_cast<double>(ns) - 1));
    }
    EXPECT_LT(best_error, 0.01);
}

TEST(clock, TicksGoForward) {
    std::uint64_t before = hf_ticks();
    for (int i = 0; i < 100000; i++) {
        std::uint64_t now = hf_ticks();
        ASSERT_GE(now, before);
        before = now;
    }
}

} // namespace
