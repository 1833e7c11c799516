// SPDX-License-Identifier: MIT OR Apache-2.0
// What one thread of a workload had of a measurement's time: the processor, the lock, and the opportunity to use the
// lock (SCL, section 3: the time in which it held the lock, or could have, since nobody did).
#pragma once

#include <nlohmann/json.hpp>

namespace holdfast::cli {

struct thread_time {
    double cpu_s = 0;
    double held_s = 0;
    double opportunity_s = 0;
};

void to_json(nlohmann::ordered_json &target, const thread_time &time);
void from_json(const nlohmann::ordered_json &source, thread_time &time);

} // namespace holdfast::cli
