// SPDX-License-Identifier: MIT OR Apache-2.0
// How tests wait: for what they wait for, with a limit that is far away. A machine that is ten times slower than ours,
// or has other work, takes longer and passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unistd.h>

#include "base/clock.h"

namespace holdfast::test {

constexpr int patience_ms = 120'000; // by the clock; nobody waits that long unless something is wrong

// Begins when it is made, and is used up by asking: a pause between two questions counts for a second at most, since
// in a longer one this process was stopped, or others had the CPU.
class patience {
public:
    bool is_over() {
        std::uint64_t now_ns = hf_monotonic_ns();
        used_ns_ += std::min(now_ns - asked_ns_, std::uint64_t{1'000'000'000});
        asked_ns_ = now_ns;
        return used_ns_ > patience_ms * std::uint64_t{1'000'000};
    }

private:
    std::uint64_t asked_ns_ = hf_monotonic_ns(), used_ns_ = 0;
};

// Polls until it is so. False when that took too long.
inline bool comes_true(const std::function<bool()> &wanted) {
    for (patience left; !wanted(); usleep(1000)) {
        if (left.is_over())
            return wanted();
    }
    return true;
}

} // namespace holdfast::test
