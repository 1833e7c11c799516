// SPDX-License-Identifier: MIT OR Apache-2.0
// How tests wait: for what they wait for, with a limit that is far away. A machine that is ten times slower than ours,
// or has other work, takes longer and passes.
#pragma once

#include <cstdint>
#include <functional>
#include <unistd.h>

#include "base/clock.h"

namespace holdfast::test {

constexpr int patience_ms = 120'000; // by the clock; nobody waits that long unless something is wrong

// Whether the patience has come to its end that began then.
inline bool is_over(std::uint64_t began_ns) {
    return hf_monotonic_ns() - began_ns > patience_ms * std::uint64_t{1'000'000};
}

// Polls until it is so. False when that took too long.
inline bool comes_true(const std::function<bool()> &wanted) {
    for (std::uint64_t began_ns = hf_monotonic_ns(); !wanted(); usleep(1000)) {
        if (is_over(began_ns))
            return wanted();
    }
    return true;
}

} // namespace holdfast::test
