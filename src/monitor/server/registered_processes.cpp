// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/registered_processes.hpp"

#include <utility>

namespace holdfast {

void registered_processes::add(peer &&process) {
    pid_t pid = process.pid;
    uid_t user = process.uid;
    if (known_.contains(pid) || !ends_.add(process, static_cast<std::uint32_t>(pid)))
        return;
    known_.emplace(pid, std::move(process));
    counts_[user]++;
}

void registered_processes::strike_off_ended() {
    ends_.for_each_ended([this](std::uint32_t pid) {
        auto ended = known_.find(static_cast<pid_t>(pid));
        if (ended == known_.end())
            return;
        if (--counts_[ended->second.uid] == 0)
            counts_.erase(ended->second.uid);
        known_.erase(ended);
    });
}

std::size_t registered_processes::of_user(uid_t user) const {
    auto found = counts_.find(user);
    return found == counts_.end() ? 0 : found->second;
}

} // namespace holdfast
