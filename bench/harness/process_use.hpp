// SPDX-License-Identifier: MIT OR Apache-2.0
// What this process has had of the machine: CPU time, how often its threads gave a CPU up or lost it, and how often
// they were moved to another one.
#pragma once

#include <optional>
#include <sys/resource.h>

namespace holdfast::bench {

struct process_use {
    double cpu_s = 0; // user and system time
    double context_switches = 0;
    std::optional<double> migrations = {}; // by a migration_counter: use_of_process() does not know

    process_use since(const process_use &before) const {
        return {.cpu_s = cpu_s - before.cpu_s, .context_switches = context_switches - before.context_switches};
    }
    process_use &operator+=(const process_use &other) {
        cpu_s += other.cpu_s;
        context_switches += other.context_switches;
        migrations = migrations && other.migrations ? std::optional(*migrations + *other.migrations) : std::nullopt;
        return *this;
    }
};

// From the beginning of the process, with those of its threads that have ended.
inline process_use use_of_process() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
            .context_switches = static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw)};
}

} // namespace holdfast::bench
