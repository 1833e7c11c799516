// SPDX-License-Identifier: MIT OR Apache-2.0
// The statistics of another process's locks, as observe/statistics_memory.h lays them out: who has some, and what they
// are at this moment. Reading stops nobody and takes no lock. What is read was written by that process, which may have
// written anything: numbers may be absurd, but reading them is safe. It is copied by system calls, never looked at
// through a mapping: that would take memory where the process has written nothing, or has made a hole, and end us by
// SIGBUS where there is none. The kernel copies an aligned word in one step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "hint/registration.h"
#include "observe/statistics_memory.h"

namespace holdfast {

using duration_counts = std::array<std::uint64_t, HF_HISTOGRAM_BUCKETS>;

// Where bucket i of a duration_counts begins; it ends where the next one begins, and the last one does not end.
double bucket_from_ns(std::size_t bucket);

// Of each count docs/statistics.md says how exact it is. All grow as long as the process lives, so that differences
// between two looks are what happened in between. (A count may be a little ahead of another one that belongs to it.)
struct lock_snapshot {
    std::uint64_t address = 0; // of the lock, in the process; of all locks that have ever lain there
    hf_statistics_kind kind = HF_STATISTICS_UNKNOWN;
    std::uint64_t uncontended = 0;    // estimated: acquisitions that found it free
    std::uint64_t contended = 0;      // those that did not: `slept`, and estimated those that spun only
    std::uint64_t slept = 0;          // exact: of the contended ones, those that slept
    std::uint64_t gave_up = 0;        // exact: waits that ended by their deadline
    std::uint64_t sleeps = 0;         // times that a waiter went to sleep
    double waited_ns = 0;             // by all waiters together; estimated for those that did not sleep
    double asleep_ns = 0;             // of waited_ns; the rest was spun
    double held_ns = 0;               // estimated; exact for holds that others slept for
    double held_variance_ns2 = 0;     // of the estimate
    std::uint64_t waiting_now = 0;    // threads that sleep for it at this moment
    double waiting_ns = 0;            // how long these have waited; in waited_ns when they are done
    double longest_wait_ns = 0;       // of those that were timed
    double longest_hold_ns = 0;       // likewise
    std::uint32_t longest_holder = 0; // tid; 0: nobody was timed
    std::uint64_t creation_site = 0;  // code address in the process; 0: not known
    duration_counts waits{};          // estimated: contended acquisitions by waiting time
    duration_counts holds{};          // estimated: by holding time

    std::uint64_t acquisitions() const { return uncontended + contended; }
};

// What one thread has held one lock, of those that it has held longest.
struct thread_hold {
    std::uint32_t thread = 0; // tid
    std::uint64_t lock = 0;   // address
    double held_ns = 0;
    bool counted = false; // all of it; else estimated
};

// The sums over all threads that the process has or had.
struct thread_sums {
    std::uint64_t acquisitions = 0; // exact
    std::uint64_t contended = 0;
    std::uint64_t spun = 0; // contended, and got the lock without sleeping
    std::uint64_t blocked = 0;
    std::uint64_t mode_switches = 0;
    std::array<std::uint64_t, HF_COUNTED_STEPS> steps{}; // by enum hf_counted_step
    std::uint64_t bound_apart = 0;     // processes with a library that calls glibc's functions past ours
    std::uint64_t met_no_monitor = 0;  // processes that found none when they started
    std::uint64_t met_it_later = 0;    // of these, that found it later
    std::uint64_t short_of_memory = 0; // processes that did not get all the memory for statistics that they wanted
};

// A rule for single locks that the process was started with, and how many it matched.
struct rule_matches {
    std::string name; // "mutex@db_lock"; the process may have written anything
    std::uint64_t matched = 0;
};

struct process_snapshot {
    pid_t process = 0;
    thread_sums threads;
    std::vector<rule_matches> rules;
    std::uint64_t not_noted = 0;      // observations of locks for which there was no room
    std::vector<lock_snapshot> locks; // all that something was noted of; in no order
    std::vector<thread_hold> holds;   // of the threads that live; in no order
};

// The memory of one process (of one copy of the library in it). Stays readable after the process has ended.
class statistics_reader {
public:
    // Behind the descriptor, of which a copy is kept. Nothing when it is something else, may shrink, or has another
    // version.
    static std::optional<statistics_reader> of(int fd);

    // What it says now. The first call in a process takes some 20 ms, to find out how long a tick is.
    process_snapshot read() const;
    // Cheaper: without the locks.
    thread_sums read_threads() const;
    std::vector<rule_matches> read_rules() const;

private:
    explicit statistics_reader(descriptor memory) : memory_(std::move(memory)) {}

    descriptor memory_;
};

// What a monitor answers to a process that wants to read statistics.
template <typename T>
struct statistics_answer {
    std::optional<T> value;
    std::string why_not; // one sentence, when there is no value
};

// Which processes have statistics with the monitor on that socket (the service's, or one of a 'holdfast run'), as far
// as the caller may read them: its own user's, all for root.
statistics_answer<std::vector<pid_t>> observed_processes(const std::string &socket_name);

// The statistics of a process: one for each copy of the library that it has (almost always one).
// Ask once and keep the readers for as long as the process lives.
statistics_answer<std::vector<statistics_reader>> open_statistics(const std::string &socket_name, pid_t process);

// Which locks of a process had holders that were not running. Known to the monitor that follows it, which need not be
// the one that keeps its statistics.
statistics_answer<hf_process_absences> read_absences(const std::string &socket_name, pid_t process);

} // namespace holdfast
