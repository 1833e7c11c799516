// SPDX-License-Identifier: MIT OR Apache-2.0
// How often threads of this process were moved to another CPU. The kernel counts that for each thread anyway
// (/proc/<pid>/task/<tid>/sched); its performance counter of the same name, which counts for a whole process and would
// have threads in it that have ended, makes each context switch a tenth longer.
#pragma once

#include <optional>
#include <sys/types.h>
#include <vector>

#include "harness/thread_files.hpp"

namespace holdfast::bench {

// Those of this process, at this moment.
std::vector<pid_t> threads_of_process();

// Since it began. None where the kernel does not say (no /proc, or one without this file).
std::optional<double> migrations_of_this_thread();

// Of some threads, from its construction on.
class migration_counter {
public:
    explicit migration_counter(const std::vector<pid_t> &threads);

    // None where the kernel does not say, where a thread has ended, and for more than thread_files::threads_max
    // threads. Takes some 10 us for each of them.
    std::optional<double> until_now() const;

private:
    thread_files counts_;
    std::optional<double> before_;
};

} // namespace holdfast::bench
