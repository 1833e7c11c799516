// SPDX-License-Identifier: MIT OR Apache-2.0
// How the Preemption Monitor gets into a kernel that may not have all that it uses.
//
//   all parts --- taken --------------------------------------------------------> done: most kernels, nothing is probed
//       |
//       | refused, though the rights are there
//       v
//   the core alone --- refused: no monitor
//       |
//       | taken
//       v
//   each part in turn, the worthiest first, with those that were taken before --> done, and what was refused is known
#pragma once

#include <memory>
#include <vector>

#include "monitor/left_out.hpp"
#include "monitor/monitor_programs.hpp"

namespace holdfast {

struct loaded_monitor {
    std::unique_ptr<monitor_programs> programs;
    std::vector<left_out_part> left_out;
};

// Throws monitor_unavailable.
loaded_monitor load_what_the_kernel_takes(const monitor_pins &pins, monitor_sight seen);

} // namespace holdfast
