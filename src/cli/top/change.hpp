// SPDX-License-Identifier: MIT OR Apache-2.0
// What happened between two looks: differences and rates. Functions of their arguments alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/top/look.hpp"

namespace holdfast::cli::top {

// Empty: nobody knows, or there was nothing to take the share or the mean of.
struct rates {
    std::optional<double> acquisitions_per_s{};
    std::optional<double> contended_share{};
    double waits_per_s = 0;
    double waiters = 0; // threads that waited, on average, those included that wait still
    std::uint64_t waiting_now = 0;
    std::optional<double> mean_wait_ns{};
    std::optional<double> spun_share{}; // of the time waited
    std::optional<double> preemptions_per_s{};
    std::optional<double> other_sleeps_per_s{};
    std::optional<double> holders{}; // share of the time in which it was held; of a process, locks held on average
    std::optional<double> holders_within{}; // so far off may that be, in 95 of 100 looks; 0: it is counted
    distribution waiting{};
    distribution holding{};
};

// One thread's part of a lock's time. Opportunity (SCL, section 3.2): the share of the time in which it held the lock,
// or nobody did: in which it could use it, whether it did or not.
struct thread_opportunity {
    std::uint32_t thread = 0;
    double held = 0; // share of the time
    double opportunity = 0;
    bool counted = false; // else from estimates
    std::string name{};   // the thread's
};

// There were waits, and of none is known how long it took.
inline bool nothing_was_timed(const rates &now) {
    return now.waits_per_s > 0 && !now.mean_wait_ns && now.waiters == 0;
}

struct lock_change {
    std::uint64_t address = 0;
    std::string name{};
    source from = source::locks;
    std::string kind{};
    bool is_lock = true;
    rates now{};
    counts so_far{};
    std::string holder_was_in{};                     // functions, innermost first; may be empty
    bool is_held = true;                             // by held_in's threads; else these woke the waiters
    std::vector<place_sample> waits_in{}, held_in{}; // as the look has them
    std::vector<thread_opportunity> threads{};       // of those that have ever held it; the least opportunity first
    std::optional<double> jain_opportunity{};        // of these: 1 fair; empty for fewer than two
};

struct process_change {
    process_id id{};
    std::string name{};
    std::string user{};
    bool under_holdfast = false;
    source from = source::locks; // of `now` and `so_far`: the locks where they count, else the kernel
    rates now{};
    counts so_far{};
    std::vector<lock_change> each_lock{};
    std::vector<rule_sample> rules{}; // so far
};

struct monitor_change {
    monitor_sample now{};
    double preemptions_per_s = 0;
    double sleeps_per_s = 0;
};

struct change {
    double seconds = 0;
    std::vector<monitor_change> monitors{};
    std::vector<process_change> processes{};
    std::string why_no_futexes{};
    std::uint64_t uncounted_sleeps = 0;
    bool asks_for_stacks = false;
    std::string why_no_stacks{};
    std::string why_no_older{}; // waits, or their places, that began before top did

    // Asked for, and not there for a reason of their own.
    bool stacks_are_missed() const;
    double preemptions_per_s() const; // of all monitors
    // Share of the time waited that Holdfast's waiters spun, all together.
    std::optional<double> spun_share() const;
};

// What has happened from `before` to `now`. Processes of `before` alone have ended and are left out; of those of `now`
// alone everything is new. What counts far less than before has begun anew (exec): all of it is new.
change between(const look &before, const look &now);

} // namespace holdfast::cli::top
