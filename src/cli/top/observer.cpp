// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/observer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unistd.h>

#include "base/clock.h"
#include "cli/symbols/process_stat.hpp"
#include "cli/top/lock_names.hpp"
#include "cli/top/lock_places.hpp"
#include "cli/top/lock_statistics.hpp"
#include "cli/top/monitor_list.hpp"
#include "cli/top/running_process.hpp"
#include "monitor/futex_watch.hpp"

namespace holdfast::cli::top {
namespace {

counts counts_of(const hf_futex_totals &totals) {
    counts found;
    found.waits = found.timed_waits = totals.lock_waits;
    found.waited_ns = found.blocked_ns = totals.lock_waited_ns;
    found.other_sleeps = totals.sleeps - std::min(totals.lock_waits, totals.sleeps);
    found.longest_wait_ns = totals.longest_ns;
    for (unsigned power = 0; power < HF_FUTEX_BUCKETS; power++) {
        if (totals.bucket[power] != 0)
            found.waiting.buckets.push_back(
                {.from_ns = std::uint64_t{1} << power,
                 .below_ns =
                     std::max(std::uint64_t{1} << power, std::min(std::uint64_t{2} << power, totals.longest_ns)),
                 .count = totals.bucket[power]});
    }
    return found;
}

// What the kernel has seen of a process: all of it, and the words that locks seem to be.
struct futexes_of_process {
    counts all;
    std::vector<lock_sample> words;

    void add(const hf_futex_sleeper &sleeper, std::uint64_t now_ns) {
        auto word = std::ranges::find(words, sleeper.key.address, &lock_sample::address);
        if (word == words.end())
            word = words.insert(word, {.address = sleeper.key.address, .from = source::futexes});
        std::uint64_t waited_ns = now_ns - std::min(sleeper.since_ns, now_ns);
        for (counts *each : {&all, &word->so_far}) {
            each->waiting_now++;
            each->waiting_ns += static_cast<double>(waited_ns);
            each->longest_wait_ns = std::max(each->longest_wait_ns, waited_ns);
        }
    }
};

} // namespace

struct observer::sources {
    monitor_list monitors;
    lock_statistics statistics;
    lock_names names;
    holdfast_detector detector;
    std::unique_ptr<futex_watch> futexes;
    std::string why_no_futexes;
    std::unique_ptr<lock_places> places;
    bool asks_for_stacks = false;
    std::string why_no_stacks;

    explicit sources(const plan &what) : monitors(what.service_socket), asks_for_stacks(what.stacks) {
        if (!what.futexes) {
            why_no_futexes = "futexes: not watched";
            why_no_stacks = "stacks: not asked for";
            return;
        }
        why_no_stacks = what.stacks ? "stacks: only root sees them" : "stacks: not asked for";
        if (geteuid() != 0) {
            why_no_futexes = "futexes: only root sees them";
            return;
        }
        try {
            futexes = std::make_unique<futex_watch>();
        } catch (const futex_watch_unavailable &unavailable) {
            why_no_futexes = unavailable.what();
        }
        if (what.stacks)
            read_stacks();
    }

    void read_stacks() {
        places = std::make_unique<lock_places>();
        why_no_stacks = places->why_not();
    }

    std::string why_no_older() const {
        older_waits waits = futexes ? futexes->sees_older() : older_waits::seen;
        older_waits stacks = places ? places->sees_older() : older_waits::seen;
        return waits == older_waits::seen ? why_hidden(stacks, "stacks of waits") : why_hidden(waits);
    }

    std::map<process_id, futexes_of_process> read_futexes(std::vector<futex_waits> &read) const {
        std::vector<hf_futex_sleeper> sleepers;
        if (futexes) {
            read = futexes->read();
            sleepers = futexes->sleepers();
        }
        std::map<process_id, futexes_of_process> found;
        for (const futex_waits &each : read) {
            auto &process =
                found[{.pid = static_cast<pid_t>(each.key.pid), .started_ticks = ticks_of(each.key.started_ns)}];
            if (each.key.address == 0)
                process.all = counts_of(each.totals);
            else if (each.totals.lock_waits != 0)
                process.words.push_back(
                    {.address = each.key.address, .from = source::futexes, .so_far = counts_of(each.totals)});
        }
        std::uint64_t now_ns = hf_monotonic_ns();
        for (const hf_futex_sleeper &each : sleepers)
            found[{.pid = static_cast<pid_t>(each.key.pid), .started_ticks = ticks_of(each.key.started_ns)}].add(
                each, now_ns);
        return found;
    }

    // The kernel would keep them for as long as we run.
    void forget_ended(const std::vector<futex_waits> &read, const std::map<process_id, bool> &alive) const {
        for (const futex_waits &each : read) {
            process_id id{.pid = static_cast<pid_t>(each.key.pid), .started_ticks = ticks_of(each.key.started_ns)};
            if (!alive.contains(id))
                futexes->forget(each.key);
        }
    }
};

observer::observer(const plan &what) : sources_(std::make_unique<sources>(what)) {}

observer::~observer() = default;

look observer::take() {
    look found;
    found.at_ns = hf_monotonic_ns();
    found.why_no_futexes = sources_->why_no_futexes;
    found.asks_for_stacks = sources_->asks_for_stacks;
    found.why_no_stacks = sources_->why_no_stacks;
    found.why_no_older = sources_->why_no_older();
    found.monitors = sources_->monitors.ask();
    sources_->statistics.ask(found.monitors);
    std::vector<futex_waits> read;
    auto futexes = sources_->read_futexes(read); // before the processes: what is not among those has ended
    std::uint64_t futexes_read_ns = hf_monotonic_ns();
    if (sources_->futexes)
        found.uncounted_sleeps = sources_->futexes->uncounted_total();
    if (sources_->places)
        sources_->places->look();
    std::map<process_id, bool> alive;
    for (const running_process &each : running_processes()) {
        alive.emplace(each.id, true);
        process_sample process{.id = each.id,
                               .name = each.name,
                               .user = user_named(each.uid),
                               .under_holdfast = sources_->detector.is_under_holdfast(each.id),
                               .threads = each.threads,
                               .counted_ns = futexes_read_ns};
        auto seen = futexes.find(each.id);
        if (seen != futexes.end()) {
            process.futexes = seen->second.all;
            process.each_lock = std::move(seen->second.words);
        }
        std::uint64_t statistics_read_ns = hf_monotonic_ns();
        sources_->statistics.add_to(process);
        if (process.locks)
            process.counted_ns = statistics_read_ns;
        if (!process.each_lock.empty())
            sources_->names.name(process);
        if (sources_->places)
            sources_->places->add_to(process);
        if (process.under_holdfast || process.futexes)
            found.processes.push_back(std::move(process));
    }
    sources_->statistics.forget_others();
    sources_->names.forget_others();
    sources_->detector.forget_others();
    if (sources_->places)
        sources_->places->forget_ended();
    if (sources_->futexes)
        sources_->forget_ended(read, alive);
    return found;
}

} // namespace holdfast::cli::top
