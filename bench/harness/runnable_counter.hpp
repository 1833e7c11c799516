// SPDX-License-Identifier: MIT OR Apache-2.0
// How many of some threads of this process run or want to at this moment. Their states are read, one by one: the
// kernel's own count (/proc/loadavg) is one read, but of the whole machine, and has threads in it that went to sleep
// some time ago (Linux 6.12 and later leave them in the queue for a while).
#pragma once

#include <cstddef>
#include <sys/types.h>
#include <vector>

#include "harness/thread_files.hpp"

namespace holdfast::bench {

class runnable_counter {
public:
    // Of these; of none when there are more than thread_files::threads_max. Not of whatever is in /proc/self/task: a
    // sanitizer may have a thread there, and one that was joined is there for a moment yet.
    explicit runnable_counter(const std::vector<pid_t> &threads) : states_(threads, "stat") {}

    // Threads that are looked at.
    std::size_t watched() const noexcept { return states_.size(); }
    // Takes some 5 us for each of them.
    unsigned now() const noexcept;

private:
    thread_files states_;
};

} // namespace holdfast::bench
