// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks of each program have counted, over all of its processes, those included that have ended: sums that
// never fall, for a bounded number of programs. A program is what its processes are called; it is told of from its
// first contended lock call on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "monitor/client/statistics_reader.hpp"

namespace holdfast::cli {

// The numbers are doubles since Prometheus's are.
struct program_total {
    std::string program;
    double processes = 0; // at the last look
    double acquisitions = 0;
    double contended = 0;
    double sleeps = 0;
    double waited_s = 0;
    double waiting_now = 0; // at the last look
};

class program_totals {
public:
    // Asks the service on that socket. Of more programs than `programs_max` the later ones are told of as one.
    program_totals(std::string socket, std::size_t programs_max)
        : socket_(std::move(socket)), programs_max_(programs_max) {}

    // Reads what there is. What a process does after the last look at it is missing in the sums. Thread-safe.
    std::vector<program_total> look();

private:
    struct process {
        std::vector<statistics_reader> readers; // one for each copy of the library
        program_total last;                     // its own
        bool is_there = true;
    };
    using process_id = std::pair<pid_t, std::uint64_t>; // its number, and when it started

    void read(pid_t pid);
    std::optional<std::string> told_as(const program_total &of);
    void keep(const program_total &of_ended);

    const std::string socket_;
    const std::size_t programs_max_;
    std::mutex one_at_a_time_;
    std::map<process_id, process> processes_;
    std::map<std::string, program_total> ended_; // of each program that is told of, also where no process has ended
};

} // namespace holdfast::cli
