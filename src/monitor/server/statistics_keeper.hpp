// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory that processes note their statistics in (observe/statistics_memory.h): made here, so that nobody has to
// trust a descriptor that a process brings, and kept for as long as the process runs.
//
// No request costs more the more memories there are, but for what it is answered with: anybody may have some thousands.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hint/registration.h"
#include "monitor/client/statistics_reader.hpp"
#include "monitor/server/peer.hpp"
#include "monitor/server/process_watch.hpp"

namespace holdfast {

class statistics_keeper {
public:
    // Makes memory for the process, which executes the program of that number. Returns a descriptor for it to write
    // through, which stays ours, or -1: out of memory or descriptors.
    int make_for(peer process, std::uint32_t program);

    // Processes that this one may read the statistics of: its own user's, unless they have gained rights; all for root.
    // Those with greater numbers than `after`, in ascending order, each once, so many at most.
    std::vector<pid_t> readable_by(const peer &reader, pid_t after, std::size_t max);

    // One of the memories of a process (0: the newest), to be read only. None: there is none that this one may read.
    descriptor open_for(const peer &reader, pid_t process, std::size_t index);

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
        std::uint32_t program;
    };
    // A process, as it was when it asked first, and its memories, the oldest first.
    struct owner {
        peer process;
        std::vector<kept_memory> kept;
    };
    using owner_map = std::map<pid_t, owner>;

    static bool may_read(const peer &reader, const peer &owner);
    owner *owner_for(peer &&process);
    void fold(owner &whose, std::size_t count);
    void forget(owner_map::iterator whose);

    owner_map owners_;
    std::map<uid_t, std::set<pid_t>> of_user_;
    std::map<uid_t, std::size_t> kept_of_user_;
    process_watch ends_;
    thread_sums of_ended_;
    rule_sums rules_of_ended_; // has all that are watched
};

} // namespace holdfast
