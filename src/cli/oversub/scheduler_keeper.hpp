// SPDX-License-Identifier: MIT OR Apache-2.0
// The oversubscription scheduler for as long as a verb runs: loaded anew when a CPU has come or gone, and the threads
// found that it is meant for.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "oversub/scheduler.hpp"

namespace holdfast::cli {

// Which threads that run already, or are started by others, are to be scheduled, and how.
struct scheduled_threads {
    bool all = false;
    std::vector<std::string> programs; // their names, as /proc/PID/comm has them
    std::filesystem::path cgroup;      // a directory; empty: none
    bool detect_spinning = false;      // among those that are scheduled
    bool holders_as_others = false;    // those of them that hold a lock have no longer turns

    bool are_looked_for() const { return !programs.empty() || !cgroup.empty(); }
};

class scheduler_keeper {
public:
    // Throws scheduler_unavailable.
    explicit scheduler_keeper(scheduled_threads whose);
    ~scheduler_keeper() = default;

    // Empty while it is in place. Else why it is not, and will not be.
    std::string why_gone() const;
    hf_scheduler_totals totals() const;
    spin_totals spinning() const;

private:
    void look(const std::stop_token &stop);
    void look_once();
    void ask_for_those_meant() const;

    scheduled_threads whose_;
    mutable std::mutex mutex_;
    std::unique_ptr<scheduler> scheduler_;
    hf_scheduler_totals of_those_before_{};
    spin_totals spinning_before_;
    std::string why_gone_;
    std::jthread looker_; // last: ends first
};

} // namespace holdfast::cli
