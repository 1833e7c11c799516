// SPDX-License-Identifier: MIT OR Apache-2.0
// What the workload programs and the verb that runs them agree on.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

inline constexpr unsigned threads_max = 10000;
inline constexpr double seconds_min = 0.001;
inline constexpr double seconds_max = 86400;

struct workload {
    const char *name;
    const char *summary;
};

const std::vector<workload> &workloads();
// nullptr when there is none of that name.
const workload *find_workload(const std::string &name);

} // namespace holdfast::cli
