// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a lock was free while its next owner waited for it: noted by the owners themselves, under the lock.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "harness/histogram.hpp"

namespace holdfast::bench {

class queuing_delay {
public:
    // The first thing that an owner does. From when the lock was given back, or asked for if that was later: so long
    // nobody was inside although this one wanted to be. `noted`: it counts.
    void entered(std::uint64_t requested, bool noted) noexcept {
        if (!noted)
            return;
        std::uint64_t entered = hf_ticks(), from = requested > left_ ? requested : left_;
        ticks_.add(entered > from ? entered - from : 0); // counters of two CPUs may differ a little
    }
    // The last thing.
    void left() noexcept { left_ = hf_ticks(); }

    const histogram &ticks() const noexcept { return ticks_; }

private:
    std::uint64_t left_ = 0;
    histogram ticks_;
};

} // namespace holdfast::bench
