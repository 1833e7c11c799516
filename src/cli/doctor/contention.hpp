// SPDX-License-Identifier: MIT OR Apache-2.0
// Does a running program wait for locks at all, and would Holdfast help? Watched for some seconds, in figures.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/start/program_examination.hpp"

namespace holdfast::cli {

// Each a mean of the time watched. Empty: not known.
struct contention {
    double seconds = 0;
    double threads = 0;                                       // that it had at the end
    double cpus_allowed = 0;                                  // that it may run on
    double cpus_used = 0;                                     // by its threads
    double cpus_lacked = 0;                                   // threads that could have run, and waited for a CPU
    double switches_per_s = 0;                                // of their own accord, for whatever reason
    std::optional<double> waits_per_s, waiters, mean_wait_ns; // for locks; of a plain program those that sleep
    std::optional<double> other_sleeps_per_s;
    std::optional<double> acquisitions_per_s, contended_share, spun_share; // of a program under Holdfast
    std::string why_not_seen;                                              // the waits: a sentence; empty when they are
    // What the C library's locks do not tell: locks of the language, and futexes that the program calls itself. The
    // most time first; estimates.
    struct unlike_wait {
        std::string name;
        std::string where; // may be empty
        bool is_lock = false;
        double waits_per_s = 0, waiters = 0;
    };
    std::vector<unlike_wait> of_its_own{};
};

// Throws failure when the process ends meanwhile.
contention watch_contention(pid_t process, double seconds);

enum class contention_verdict { may_help, helps_now, hardly_waits, long_holds, out_of_reach, not_known };
const char *name_of(contention_verdict is);

struct contention_finding {
    contention_verdict is;
    std::string sentence; // with what to do
};

contention_finding judge(const contention &watched, const program_examination &examined, pid_t process);

} // namespace holdfast::cli
