// SPDX-License-Identifier: MIT OR Apache-2.0
// Work that takes a given time of the processor's, wherever it comes from.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace holdfast::bench {

inline std::uint64_t ticks_of_us(double us) {
    return static_cast<std::uint64_t>(us * 1000.0 / hf_tick_ns());
}

inline void work_for(std::uint64_t ticks) {
    std::uint64_t began = hf_ticks();
    while (hf_ticks() - began < ticks)
        continue;
}

} // namespace holdfast::bench
