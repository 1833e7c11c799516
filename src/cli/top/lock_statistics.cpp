// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/lock_statistics.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <fstream>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

constexpr int still_looks_max = 10;
constexpr int looks_apart_when_still = 5;

// A program may have written anything.
std::uint64_t whole(double value) {
    constexpr double highest = 9e18;
    return value > 0 ? static_cast<std::uint64_t>(std::min(value, highest)) : 0;
}

// The longest is known by itself, and ends the last bucket.
distribution distribution_of(const holdfast::duration_counts &counts, std::uint64_t longest_ns) {
    distribution found;
    for (std::size_t i = 0; i < counts.size(); i++) {
        if (counts[i] == 0)
            continue;
        bool last = i + 1 == counts.size();
        found.buckets.push_back({.from_ns = whole(bucket_from_ns(i)),
                                 .below_ns = whole(bucket_from_ns(i) * (last ? 2 : 1)),
                                 .count = counts[i]});
        if (!last)
            found.buckets.back().below_ns = whole(bucket_from_ns(i + 1));
        if (longest_ns > found.buckets.back().from_ns)
            found.buckets.back().below_ns = std::min(found.buckets.back().below_ns, longest_ns);
    }
    return found;
}

const char *name_of(hf_statistics_kind kind) {
    switch (kind) {
    case HF_STATISTICS_MUTEX: return "mutex";
    case HF_STATISTICS_READ_WRITE_LOCK: return "rwlock";
    case HF_STATISTICS_SPINLOCK: return "spin";
    case HF_STATISTICS_UNKNOWN: break;
    }
    return "lock";
}

// Two copies of the library in a process see different locks.
void add(counts &sum, const counts &more) {
    for (auto part : {&counts::waits, &counts::timed_waits, &counts::waiting_now, &counts::waited_ns,
                      &counts::blocked_ns, &counts::held_ns})
        sum.*part += more.*part;
    sum.waiting_ns += more.waiting_ns;
    sum.held_variance_ns2 += more.held_variance_ns2;
    for (auto longest : {&counts::longest_wait_ns, &counts::longest_hold_ns})
        sum.*longest = std::max(sum.*longest, more.*longest);
}

void add_absences(const hf_holder_absences &holders, lock_sample &lock) {
    lock.so_far.preemptions = holders.preemptions;
    lock.so_far.preempted_ns = holders.preempted_ns;
    lock.so_far.holder_sleeps = holders.sleeps;
    lock.so_far.holder_asleep_ns = holders.asleep_ns;
    lock.so_far.longest_preempted_ns = holders.longest_ns;
    for (std::uint64_t address : holders.stack) {
        if (address == 0)
            break;
        lock.holder_stack.push_back(address);
    }
}

// What the monitor knows of them, and the locks have not noted, is a lock all the same.
void add_absences(const hf_process_absences &told, counts &sum, std::vector<lock_sample> &locks) {
    sum.preemptions = told.preemptions;
    sum.preempted_ns = told.preempted_ns;
    sum.holder_sleeps = told.sleeps;
    sum.holder_asleep_ns = told.asleep_ns;
    for (std::uint64_t i = 0; i < told.count; i++) {
        const hf_lock_absences &each = told.each[i];
        auto lock = std::ranges::find(locks, each.lock, &lock_sample::address);
        if (lock == locks.end())
            lock = locks.insert(lock, {.address = each.lock, .from = source::locks, .kind = "lock"});
        add_absences(each.holders, *lock);
        sum.longest_preempted_ns = std::max(sum.longest_preempted_ns, each.holders.longest_ns);
    }
}

// What the program has called it; nothing when it has ended.
std::string name_of_thread(pid_t process, std::uint32_t thread) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/comm", process, thread));
    std::string name;
    std::getline(file, name);
    return printable(name);
}

void add_holds(pid_t process, const std::vector<thread_hold> &holds, std::vector<lock_sample> &locks,
               std::size_t first) {
    std::map<std::uint32_t, std::string> names;
    std::map<std::uint64_t, lock_sample *> by_address;
    for (std::size_t i = first; i < locks.size(); i++)
        by_address.emplace(locks[i].address, &locks[i]);
    for (const thread_hold &each : holds) {
        auto lock = by_address.find(each.lock);
        if (lock == by_address.end())
            continue;
        auto [name, is_new] = names.try_emplace(each.thread);
        if (is_new)
            name->second = name_of_thread(process, each.thread);
        lock->second->holds.push_back(
            {.thread = each.thread, .held_ns = whole(each.held_ns), .counted = each.counted, .name = name->second});
    }
}

// Each copy of the library in a process has read the same rules.
void add_rules(const std::vector<rule_matches> &more, std::vector<rule_sample> &rules) {
    for (const rule_matches &each : more) {
        std::string name = printable(each.name);
        auto known = std::ranges::find(rules, name, &rule_sample::name);
        if (known == rules.end())
            rules.push_back({.name = name, .matched = each.matched});
        else
            known->matched += each.matched;
    }
}

} // namespace

lock_sample sample_of(const lock_snapshot &lock) {
    lock_sample found{.address = lock.address, .from = source::locks, .kind = name_of(lock.kind)};
    found.so_far = {.acquisitions = lock.acquisitions(),
                    .contended = lock.contended,
                    .waits = lock.contended + lock.gave_up,
                    .timed_waits = std::accumulate(lock.waits.begin(), lock.waits.end(), std::uint64_t{0}),
                    .waited_ns = whole(lock.waited_ns),
                    .blocked_ns = whole(lock.asleep_ns),
                    .waiting_ns = lock.waiting_ns,
                    .waiting_now = lock.waiting_now,
                    .held_ns = whole(lock.held_ns),
                    .held_variance_ns2 = lock.held_variance_ns2,
                    .longest_wait_ns = whole(lock.longest_wait_ns),
                    .longest_hold_ns = whole(lock.longest_hold_ns),
                    .longest_holder = lock.longest_holder,
                    .waiting = distribution_of(lock.waits, whole(lock.longest_wait_ns)),
                    .holding = distribution_of(lock.holds, whole(lock.longest_hold_ns))};
    found.creation_site = lock.creation_site;
    return found;
}

void lock_statistics::ask(const std::vector<monitor_sample> &monitors) {
    sockets_.clear();
    monitors_.clear();
    for (const monitor_sample &each : monitors) {
        if (each.runs)
            monitors_.push_back(each.socket);
        if (!each.answers)
            continue;
        auto observed = observed_processes(each.socket);
        for (pid_t pid : observed.value.value_or(std::vector<pid_t>()))
            sockets_[pid].push_back(each.socket);
    }
}

// A process may be known to several: to the service, and to a 'holdfast run --stats', which has what it counts then.
// After an exec it has other memory, and what is kept stands still.
lock_statistics::kept *lock_statistics::statistics_of(const process_sample &process) {
    auto known = kept_.find(process.id);
    if (known != kept_.end() && known->second.program == process.name && known->second.still_looks < still_looks_max)
        return &known->second;
    auto sockets = sockets_.find(process.id.pid);
    if (sockets == sockets_.end())
        return known == kept_.end() ? nullptr : &known->second;
    for (const std::string &socket : sockets->second) {
        auto opened = open_statistics(socket, process.id.pid);
        if (opened.value)
            return &(kept_[process.id] = {.program = process.name, .readers = std::move(*opened.value)});
    }
    return nullptr;
}

// One monitor follows it, most likely the one that did before.
void lock_statistics::ask_for_absences(kept &known, pid_t process) const {
    if (!known.followed_by.empty()) {
        auto answer = read_absences(known.followed_by, process);
        if (answer.value) {
            known.absences = *answer.value;
            return;
        }
    }
    known.followed_by.clear();
    for (const std::string &socket : monitors_) {
        auto answer = read_absences(socket, process);
        if (!answer.value)
            continue;
        known.followed_by = socket;
        known.absences = *answer.value;
        return;
    }
}

bool lock_statistics::add_to(process_sample &process) {
    kept *known = statistics_of(process);
    if (!known)
        return false;
    known->asked_for = true;
    process.under_holdfast = true;
    counts sum;
    std::vector<lock_sample> locks;
    for (const statistics_reader &reader : known->readers) {
        process_snapshot now = reader.read();
        sum.acquisitions += now.threads.acquisitions;
        sum.contended += now.threads.contended;
        std::size_t first = locks.size();
        for (const lock_snapshot &each : now.locks) {
            locks.push_back(sample_of(each));
            add(sum, locks.back().so_far);
        }
        add_holds(process.id.pid, now.holds, locks, first);
        add_rules(now.rules, process.rules);
    }
    std::uint64_t done = sum.acquisitions + sum.contended;
    known->still_looks = done == known->done ? known->still_looks + 1 : 0;
    known->done = done;
    // Seldom when nothing happens: holders of spinlocks that nobody waited for are not counted otherwise.
    if (known->still_looks % looks_apart_when_still == 0)
        ask_for_absences(*known, process.id.pid);
    if (known->absences)
        add_absences(*known->absences, sum, locks);
    process.locks = std::move(sum);
    process.each_lock = std::move(locks); // what the kernel saw of the same locks says less
    return true;
}

void lock_statistics::forget_others() {
    std::erase_if(kept_, [](const auto &each) { return !each.second.asked_for; });
    for (auto &[id, what] : kept_)
        what.asked_for = false;
}

} // namespace holdfast::cli::top
