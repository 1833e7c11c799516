// SPDX-License-Identifier: MIT OR Apache-2.0
// A process that continues this one, which is about to stop itself, when a child is no longer stopped: nobody else
// would, when the child alone is continued (kill -CONT CHILD), and a stopped process can't wait for its children.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

// In doubt, where /proc does not tell, yes: as if there were no waker.
bool is_stopped(pid_t child);

class waker {
public:
    // Without such a process, if there can be none.
    explicit waker(pid_t child);
    // Ends it.
    ~waker();
    waker(const waker &) = delete;
    waker &operator=(const waker &) = delete;

    pid_t pid() const { return pid_; } // below 0: there is none

private:
    pid_t pid_;
};

} // namespace holdfast::cli
