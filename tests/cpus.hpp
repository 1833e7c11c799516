// SPDX-License-Identifier: MIT OR Apache-2.0
// The CPUs of the calling thread.
#pragma once

#include <sched.h>
#include <vector>

namespace holdfast::test {

inline std::vector<int> usable_cpus() {
    cpu_set_t set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set))
                cpus.push_back(cpu);
    return cpus;
}

// From now on it uses these alone. False when the kernel refuses.
inline bool stay_on(const std::vector<int> &cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus)
        CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

} // namespace holdfast::test
