// SPDX-License-Identifier: MIT OR Apache-2.0
// What one look at the machine finds: counts since some beginning, which mean nothing before there is another look to
// compare them with (change.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/top/distribution.hpp"

namespace holdfast::cli::top {

// A process for good: its number may be given again, but not with the same start.
struct process_id {
    pid_t pid = 0;
    std::uint64_t started_ticks = 0; // since boot, in the unit of /proc/PID/stat
    auto operator<=>(const process_id &) const = default;
};

// The counter.
enum class source {
    locks,   // Holdfast's locks, themselves
    futexes, // the kernel: sleeps in futexes, for whatever purpose
};

// Of a process or a lock, since it or its counting began. What its source does not know is 0.
struct counts {
    std::uint64_t acquisitions = 0;
    std::uint64_t contended = 0;
    std::uint64_t waits = 0;       // locks: the contended ones that have ended; futexes: sleeps that look like a lock's
    std::uint64_t timed_waits = 0; // those that waited_ns is the sum of, each with what it stands for
    std::uint64_t waited_ns = 0;
    std::uint64_t blocked_ns = 0;  // of waited_ns, asleep; the rest was spun
    double waiting_ns = 0;         // of waits that have not ended, not in waited_ns
    std::uint64_t waiting_now = 0; // how many these are
    std::uint64_t held_ns = 0;     // by those whose holding was timed, each with what it stands for
    double held_variance_ns2 = 0;  // of that estimate
    std::uint64_t preemptions = 0; // of lock holders; by the monitor, exact
    std::uint64_t preempted_ns = 0;
    std::uint64_t holder_sleeps = 0; // of their own will; by the monitor, exact
    std::uint64_t holder_asleep_ns = 0;
    std::uint64_t longest_preempted_ns = 0;
    std::uint64_t other_sleeps = 0; // futexes: for conditions, joins, timeouts; nobody can tell
    std::uint64_t longest_wait_ns = 0;
    std::uint64_t longest_hold_ns = 0;
    std::uint32_t longest_holder = 0; // a thread
    distribution waiting{};
    distribution holding{};
};

// What one thread has held a lock, since it or its counting began.
struct hold_sample {
    std::uint32_t thread = 0;
    std::uint64_t held_ns = 0;
    bool counted = false; // else estimated
    std::string name{};   // the thread's; printable, may be empty
};

// Where threads wait for a lock, or give it back: a share of the time that was waited.
struct place_sample {
    std::string where{};      // "lookup_in_cache (cache.cpp:120)"; empty: not known
    std::string function{};   // of that
    std::string callers{};    // "lookup_in_cache < serve < main"
    std::uint32_t thread = 0; // of holders; of waiters 0: all of them
    std::string thread_name{};
    double share = 0;
    std::uint64_t waits_seen = 0; // that the share rests on
};

struct lock_sample {
    std::uint64_t address = 0;
    std::string name{}; // a symbol or a place in the program; may be empty
    source from = source::locks;
    std::string kind{};  // of lock; may be empty
    bool is_lock = true; // else a condition, a semaphore, or what nobody can tell
    counts so_far{};
    std::uint64_t creation_site = 0;           // in the program's code; 0: not known
    std::vector<std::uint64_t> holder_stack{}; // where one was that was preempted lately; innermost first
    std::string holder_was_in{};               // the same, in names
    std::vector<place_sample> waits_in{};      // since we look; the most time first
    bool is_held = true; // by those that wake its waiters; else they woke them, and that is all that is known
    std::vector<place_sample> held_in{}; // of threads that held it while others waited; likewise
    std::vector<hold_sample> holds{};    // of the threads that live and have held it; in no order
};

// How many locks a rule of its HOLDFAST_CONF matched.
struct rule_sample {
    std::string name{}; // "mutex@db_lock"
    std::uint64_t matched = 0;
};

struct process_sample {
    process_id id{};
    std::string name{};
    std::string user{};
    bool under_holdfast = false;
    std::uint64_t threads = 0;       // 0: not known
    std::uint64_t counted_ns = 0;    // CLOCK_MONOTONIC, when its counts were read; 0: at the look's time
    std::optional<counts> locks{};   // what its own locks have counted
    std::optional<counts> futexes{}; // what the kernel has seen of it
    std::vector<lock_sample> each_lock{};
    std::vector<rule_sample> rules{};
};

struct monitor_sample {
    std::string socket{};
    bool runs = false;      // a monitor
    bool answers = false;   // it may keep statistics of locks, also where there can be no monitor
    std::string sentence{}; // about it, for people
    std::uint64_t uptime_ns = 0;
    std::uint64_t preempted_now = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t registered_processes = 0;
};

struct look {
    std::uint64_t at_ns = 0; // CLOCK_MONOTONIC
    std::vector<monitor_sample> monitors{};
    std::vector<process_sample> processes{};
    std::string why_no_futexes{}; // empty when the kernel shows them
    std::uint64_t uncounted_sleeps = 0;
    bool asks_for_stacks = false;
    std::string why_no_stacks{}; // of waiters and holders; empty when they are seen
    std::string why_no_older{};  // waits, or their places, that began before top did
};

} // namespace holdfast::cli::top
