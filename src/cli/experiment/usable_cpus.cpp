// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/usable_cpus.hpp"

#include <sched.h>

namespace holdfast::cli {

std::vector<int> usable_cpus() {
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

} // namespace holdfast::cli
