// SPDX-License-Identifier: MIT OR Apache-2.0
// What busy-waiting detection has done, by a signal or in the scheduler.
#pragma once

#include <cstdint>

#include "monitor/bpf/wait_evidence.h"

namespace holdfast {

struct spin_totals {
    std::uint64_t samples = 0, contested = 0, detections = 0, yields = 0, in_vain = 0, unreachable = 0;
    std::uint64_t loops = 0; // instructions of loops that wait, met in the programs

    spin_totals() = default;
    // Of the kernel side's counts, each a hf_spin_count.
    spin_totals(const std::uint64_t *counts, std::uint64_t loops_met)
        : samples(counts[HF_SPIN_SAMPLES]), contested(counts[HF_SPIN_CONTESTED]),
          detections(counts[HF_SPIN_DETECTIONS]), yields(counts[HF_SPIN_YIELDS]), in_vain(counts[HF_SPIN_IN_VAIN]),
          unreachable(counts[HF_SPIN_UNREACHABLE]), loops(loops_met) {}

    spin_totals &operator+=(const spin_totals &more) {
        samples += more.samples;
        contested += more.contested;
        detections += more.detections;
        yields += more.yields;
        in_vain += more.in_vain;
        unreachable += more.unreachable;
        loops += more.loops;
        return *this;
    }
};

} // namespace holdfast
