// SPDX-License-Identifier: MIT OR Apache-2.0
// The processes that are registered and run, and how many a user has of them.
#pragma once

#include <map>
#include <sys/types.h>

#include "monitor/server/peer.hpp"
#include "monitor/server/process_watch.hpp"

namespace holdfast {

class registered_processes {
public:
    // With a library more it is still one process, of the user that registered it first. One that can't be watched, for
    // want of memory, is not counted.
    void add(peer &&process);
    void strike_off_ended();
    // Those that have ended are among them until they are struck off.
    std::size_t of_user(uid_t user) const;
    std::size_t size() const { return known_.size(); }

private:
    std::map<pid_t, peer> known_;
    std::map<uid_t, std::size_t> counts_;
    process_watch ends_;
};

} // namespace holdfast
