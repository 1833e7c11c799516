// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory that processes note their statistics in (observe/statistics_memory.h): made here, so that nobody has to
// trust a descriptor that a process brings, and kept for as long as the process runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hint/registration.h"
#include "monitor/peer.hpp"
#include "monitor/statistics_reader.hpp"

namespace holdfast {

class statistics_keeper {
public:
    // Makes memory for the process, which executes the program of that number. Returns a descriptor for it to write
    // through, which stays ours, or -1: out of memory or descriptors.
    int make_for(peer owner, std::uint32_t program);

    // Processes that this one may read the statistics of: its own user's, unless they have gained rights; all for root.
    // Those with greater numbers than `after`, in ascending order, each once.
    std::vector<pid_t> readable_by(const peer &reader, pid_t after) const;

    // One of the memories of a process (0: the newest), to be read only. None: there is none that this one may read.
    descriptor open_for(const peer &reader, pid_t process, std::size_t index) const;

    // Adds up those of processes that have ended, and lets go of them.
    void close_ended();
    // Those of processes that have ended are among them until they are closed.
    std::size_t kept_for(uid_t user) const;
    // Over all processes, those that have ended included.
    thread_sums sum() const;

    // What rules for single locks matched, by their names, of those that are named here before there are processes: a
    // process may have any number of its own.
    using rule_sums = std::map<std::string, std::uint64_t>;
    void watch_rules(const std::vector<std::string> &names);
    rule_sums sum_of_rules() const;

private:
    struct kept_memory {
        descriptor memory;
        peer owner;
        std::uint32_t program;
    };
    static bool may_read(const peer &reader, const kept_memory &kept);
    void fold(const std::function<bool(const kept_memory &)> &is_final);

    std::vector<kept_memory> kept_; // the oldest first
    thread_sums of_ended_;
    rule_sums rules_of_ended_; // has all that are watched
};

} // namespace holdfast
