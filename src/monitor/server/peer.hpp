// SPDX-License-Identifier: MIT OR Apache-2.0
// The process at the other end of a connection, as the kernel says: never as a message does.
#pragma once

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace holdfast {

struct peer {
    uid_t uid = static_cast<uid_t>(-1);
    pid_t pid = 0;      // 0: it is in a pid namespace that we do not see into
    descriptor process; // a pidfd: it can't come to mean another process as a number can. None: nobody can say

    bool has_ended() const;
    // Does the process still run as that user, with no more rights than that one has? Only asked of one whose pid is
    // known.
    bool is_still_itself() const;
};

peer peer_of(int connection);
// Its user alone: costs less.
uid_t user_of(int connection);

// Has everybody at the other end closed it? A process that has called exec since it connected has.
bool has_hung_up(int connection);

// The process with that number. Its user is the one that may look into it: root, if it has more rights than its user
// has. Without a descriptor when there is none.
peer peer_with_pid(pid_t pid);

} // namespace holdfast
