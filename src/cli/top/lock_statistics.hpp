// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks of Holdfast's programs have counted, read where their monitors keep it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/top/look.hpp"
#include "monitor/client/statistics_reader.hpp"

namespace holdfast::cli::top {

class lock_statistics {
public:
    // Asks each monitor once which processes it keeps statistics of. To be called at the beginning of each look.
    void ask(const std::vector<monitor_sample> &monitors);

    // Fills in what the locks of the process have counted, and says whether anything is known of them.
    bool add_to(process_sample &process);

    // Lets go of processes that add_to was not asked for since the last call.
    void forget_others();

private:
    struct kept {
        std::string program;
        std::vector<statistics_reader> readers; // one for each copy of the library
        std::uint64_t done = 0;                 // acquisitions and waits, as the last look found them
        int still_looks = 0;                    // that found no more of them
        bool asked_for = true;
        std::string followed_by{}; // the monitor's socket
        std::optional<hf_process_absences> absences{};
    };
    kept *statistics_of(const process_sample &process);
    void ask_for_absences(kept &known, pid_t process) const;

    std::map<pid_t, std::vector<std::string>> sockets_; // of whom statistics are kept, and where
    std::vector<std::string> monitors_;                 // sockets of those that run
    std::map<process_id, kept> kept_;
};

// As top shows it: what was counted of one lock.
lock_sample sample_of(const lock_snapshot &lock);

} // namespace holdfast::cli::top
