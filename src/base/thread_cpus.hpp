// SPDX-License-Identifier: MIT OR Apache-2.0
// The CPUs that the calling thread may run on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sched.h>
#include <vector>

namespace holdfast {

// Their numbers, in order. What the thread starts may run on the same. Empty when the kernel does not say.
inline std::vector<int> usable_cpus() {
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) { // the kernel refuses a set that is smaller than its own
        cpu_set_t *set = CPU_ALLOC(cpus);
        std::size_t bytes = CPU_ALLOC_SIZE(cpus);
        bool known = sched_getaffinity(0, bytes, set) == 0;
        std::vector<int> usable;
        for (int cpu = 0; known && cpu < cpus; cpu++) {
            if (CPU_ISSET_S(cpu, bytes, set))
                usable.push_back(cpu);
        }
        CPU_FREE(set);
        if (known)
            return usable;
    }
    return {};
}

// From now on it runs on these alone, and so does what it starts. False when the kernel refuses: it knows none of them.
inline bool stay_on(const std::vector<int> &cpus) {
    int last = cpus.empty() ? 0 : *std::max_element(cpus.begin(), cpus.end());
    cpu_set_t *set = CPU_ALLOC(last + 1);
    std::size_t bytes = CPU_ALLOC_SIZE(last + 1);
    CPU_ZERO_S(bytes, set);
    for (int cpu : cpus)
        CPU_SET_S(cpu, bytes, set);
    bool done = sched_setaffinity(0, bytes, set) == 0;
    CPU_FREE(set);
    return done;
}

} // namespace holdfast
