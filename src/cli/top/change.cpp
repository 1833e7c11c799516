// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/change.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "measure/statistics.hpp"

namespace holdfast::cli::top {
namespace {

constexpr auto sums = {&counts::acquisitions,  &counts::contended,        &counts::waits,
                       &counts::timed_waits,   &counts::waited_ns,        &counts::blocked_ns,
                       &counts::held_ns,       &counts::preemptions,      &counts::preempted_ns,
                       &counts::holder_sleeps, &counts::holder_asleep_ns, &counts::other_sleeps};

constexpr auto telling_sums = {&counts::acquisitions, &counts::contended, &counts::waits, &counts::other_sleeps};

// A look may find one of several counters that are summed up ahead of another, so that a sum falls a little. What falls
// to less than half belongs to something new.
bool has_begun_anew(const counts &before, const counts &now) {
    return std::ranges::any_of(telling_sums, [&](auto sum) { return now.*sum < before.*sum / 2; });
}

counts since(const counts &before, const counts &now) {
    if (has_begun_anew(before, now))
        return now;
    counts difference = now; // what is no sum stays: the longest ones
    for (auto sum : sums)
        difference.*sum -= std::min(before.*sum, now.*sum);
    difference.waiting_ns -= before.waiting_ns; // below 0 when more of them have ended than have gone on
    difference.held_variance_ns2 = std::max(0.0, now.held_variance_ns2 - before.held_variance_ns2);
    difference.waiting = since(before.waiting, now.waiting);
    difference.holding = since(before.holding, now.holding);
    return difference;
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

double per_second(std::uint64_t count, double seconds) {
    return static_cast<double>(count) / seconds;
}

// What can't be exceeded: a look falls between two counts, and a wait may be counted with what it began before the last
// one.
struct bounds {
    double waiters = std::numeric_limits<double>::infinity();
    double holders = std::numeric_limits<double>::infinity();
};

rates rates_of(const counts &what, source from, double seconds, bounds most) {
    rates found;
    found.waits_per_s = per_second(what.waits, seconds);
    double waited_ns = static_cast<double>(what.waited_ns) + what.waiting_ns;
    found.waiters = std::clamp(waited_ns / 1e9 / seconds, 0.0, most.waiters);
    found.waiting_now = what.waiting_now;
    found.mean_wait_ns = share(what.waited_ns, what.timed_waits);
    found.waiting = what.waiting;
    found.holding = what.holding;
    if (from == source::futexes) {
        found.other_sleeps_per_s = per_second(what.other_sleeps, seconds);
        return found;
    }
    found.acquisitions_per_s = per_second(what.acquisitions, seconds);
    found.contended_share = share(what.contended, what.acquisitions);
    found.spun_share = share(what.waited_ns - std::min(what.blocked_ns, what.waited_ns), what.waited_ns);
    found.preemptions_per_s = per_second(what.preemptions, seconds);
    if (what.held_ns != 0) // otherwise it may be of a kind whose holding is not timed
        found.holders = std::min(per_second(what.held_ns, seconds) / 1e9, most.holders);
    if (found.holders)
        found.holders_within = std::min(1.96 * std::sqrt(what.held_variance_ns2) / 1e9 / seconds, most.holders);
    return found;
}

// How much of `seconds` each thread has held the lock. A thread of this look alone has begun since the last one.
std::vector<thread_opportunity> held_shares(const lock_sample *before, const lock_sample &now, double seconds) {
    std::map<std::uint32_t, std::uint64_t> known;
    if (before) {
        for (const hold_sample &each : before->holds)
            known[each.thread] = each.held_ns;
    }
    std::vector<thread_opportunity> found;
    for (const hold_sample &each : now.holds) {
        std::uint64_t old = known.contains(each.thread) ? known[each.thread] : 0;
        std::uint64_t more = each.held_ns < old ? each.held_ns : each.held_ns - old;
        // What began before this look, or stands for others, may be more than there was time.
        double share = std::min(static_cast<double>(more) / 1e9 / seconds, 1.0);
        found.push_back({.thread = each.thread, .held = share, .counted = each.counted, .name = each.name});
    }
    return found;
}

void put_opportunities(lock_change &lock) {
    double held = 0;
    for (const thread_opportunity &each : lock.threads)
        held += each.held;
    double scale = held > 1 ? 1 / held : 1; // estimates: no lock is held longer than all of the time
    double nobody = std::max(0.0, 1 - held);
    std::vector<double> all;
    for (thread_opportunity &each : lock.threads) {
        each.held *= scale;
        each.opportunity = each.held + nobody;
        all.push_back(each.opportunity);
    }
    std::ranges::sort(lock.threads, [](const auto &a, const auto &b) {
        return std::tuple(a.opportunity, a.thread) < std::tuple(b.opportunity, b.thread);
    });
    lock.jain_opportunity = jain_index(all);
}

using lock_key = std::pair<source, std::uint64_t>;

std::map<lock_key, const lock_sample *> locks_of(const process_sample *process) {
    std::map<lock_key, const lock_sample *> found;
    if (process) {
        for (const lock_sample &each : process->each_lock)
            found.emplace(lock_key(each.from, each.address), &each);
    }
    return found;
}

bounds bounds_of(const process_sample &process) {
    bounds most;
    if (process.threads != 0)
        most.waiters = static_cast<double>(process.threads);
    return most;
}

bounds bounds_of(const process_sample &process, const lock_sample &lock) {
    bounds most = bounds_of(process);
    if (lock.from == source::locks) // those whose holding is timed have one holder
        most.holders = 1;
    return most;
}

std::vector<lock_change> locks_between(const process_sample *before, const process_sample &now, double seconds) {
    auto known = locks_of(before);
    std::vector<lock_change> found;
    for (const lock_sample &each : now.each_lock) {
        auto old = known.find(lock_key(each.from, each.address));
        const lock_sample *same = old == known.end() ? nullptr : old->second;
        counts more = since(same ? same->so_far : counts(), each.so_far);
        found.push_back({.address = each.address,
                         .name = each.name,
                         .from = each.from,
                         .kind = each.kind,
                         .is_lock = each.is_lock,
                         .now = rates_of(more, each.from, seconds, bounds_of(now, each)),
                         .so_far = each.so_far,
                         .holder_was_in = each.holder_was_in,
                         .is_held = each.is_held,
                         .waits_in = each.waits_in,
                         .held_in = each.held_in,
                         .threads = held_shares(same, each, seconds)});
        put_opportunities(found.back());
    }
    return found;
}

// As many locks were held as each of them was.
void put_holders(process_change &process) {
    double held = 0, variance = 0;
    for (const lock_change &each : process.each_lock) {
        held += each.now.holders.value_or(0);
        variance += std::pow(each.now.holders_within.value_or(0), 2);
    }
    if (!process.now.holders || process.each_lock.empty())
        return;
    process.now.holders = held;
    process.now.holders_within = std::sqrt(variance);
}

process_change process_between(const process_sample *before, const process_sample &now, double seconds) {
    process_change found = {.id = now.id,
                            .name = now.name,
                            .user = now.user,
                            .under_holdfast = now.under_holdfast,
                            .from = now.locks ? source::locks : source::futexes,
                            .each_lock = locks_between(before, now, seconds),
                            .rules = now.rules};
    auto of_source = [&](const process_sample &process) {
        return (found.from == source::locks ? process.locks : process.futexes).value_or(counts());
    };
    found.so_far = of_source(now);
    found.now =
        rates_of(since(before ? of_source(*before) : counts(), found.so_far), found.from, seconds, bounds_of(now));
    put_holders(found);
    if (found.from == source::locks && now.futexes) {
        std::uint64_t slept = before && before->futexes ? before->futexes->other_sleeps : 0;
        found.now.other_sleeps_per_s =
            per_second(now.futexes->other_sleeps - std::min(slept, now.futexes->other_sleeps), seconds);
    }
    return found;
}

constexpr double shortest_s = 1e-3; // two looks at one time have no rates

double seconds_between(std::uint64_t before_ns, std::uint64_t now_ns) {
    return std::max(static_cast<double>(now_ns - std::min(before_ns, now_ns)) / 1e9, shortest_s);
}

// A look takes its time, on a busy machine a long one: each process has its own.
double seconds_between(const process_sample *before, const process_sample &now, double looks_s) {
    bool are_timed = before && before->counted_ns != 0 && now.counted_ns != 0;
    return are_timed ? seconds_between(before->counted_ns, now.counted_ns) : looks_s;
}

monitor_change monitor_between(const look &before, const monitor_sample &now, double seconds) {
    auto old = std::ranges::find(before.monitors, now.socket, &monitor_sample::socket);
    // One that was restarted has kept its page, and its totals with it, or begun anew.
    bool goes_on =
        old != before.monitors.end() && old->runs && now.preemptions >= old->preemptions && now.sleeps >= old->sleeps;
    return {.now = now,
            .preemptions_per_s = per_second(now.preemptions - (goes_on ? old->preemptions : 0), seconds),
            .sleeps_per_s = per_second(now.sleeps - (goes_on ? old->sleeps : 0), seconds)};
}

} // namespace

bool change::stacks_are_missed() const {
    return asks_for_stacks && why_no_futexes.empty() && !why_no_stacks.empty();
}

double change::preemptions_per_s() const {
    double sum = 0;
    for (const monitor_change &each : monitors)
        sum += each.preemptions_per_s;
    return sum;
}

std::optional<double> change::spun_share() const {
    double spun = 0, waited = 0;
    for (const process_change &each : processes) {
        if (!each.now.spun_share)
            continue;
        spun += *each.now.spun_share * each.now.waiters;
        waited += each.now.waiters;
    }
    return waited == 0 ? std::nullopt : std::optional(spun / waited);
}

change between(const look &before, const look &now) {
    change found;
    found.seconds = seconds_between(before.at_ns, now.at_ns);
    found.why_no_futexes = now.why_no_futexes;
    found.uncounted_sleeps = now.uncounted_sleeps;
    found.asks_for_stacks = now.asks_for_stacks;
    found.why_no_stacks = now.why_no_stacks;
    found.why_no_older = now.why_no_older;
    for (const monitor_sample &each : now.monitors)
        found.monitors.push_back(monitor_between(before, each, found.seconds));
    std::map<process_id, const process_sample *> known;
    for (const process_sample &each : before.processes)
        known.emplace(each.id, &each);
    for (const process_sample &each : now.processes) {
        auto old = known.find(each.id);
        const process_sample *same = old == known.end() ? nullptr : old->second;
        found.processes.push_back(process_between(same, each, seconds_between(same, each, found.seconds)));
    }
    return found;
}

} // namespace holdfast::cli::top
