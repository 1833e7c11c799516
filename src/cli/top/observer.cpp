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
#include "cli/waits/lock_words.hpp"
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

process_id process_of(const hf_futex_key &key) {
    return {.pid = static_cast<pid_t>(key.pid), .started_ticks = ticks_of(key.started_ns)};
}

void add_sleeper(const hf_futex_sleeper &sleeper, std::uint64_t now_ns, process_sample &process) {
    auto word = std::ranges::find(process.each_lock, sleeper.key.address, &lock_sample::address);
    if (word == process.each_lock.end())
        word = process.each_lock.insert(word, {.address = sleeper.key.address, .from = source::futexes});
    std::uint64_t waited_ns = now_ns - std::min(sleeper.since_ns, now_ns);
    for (counts *each : {&*process.futexes, &word->so_far}) {
        each->waiting_now++;
        each->waiting_ns += static_cast<double>(waited_ns);
        each->longest_wait_ns = std::max(each->longest_wait_ns, waited_ns);
    }
}

// What the kernel has seen of a process.
struct futexes_of_process {
    hf_futex_totals all{};
    std::vector<futex_waits> words;
    std::vector<hf_futex_sleeper> sleepers;

    // As they were at that time.
    void put_into(process_sample &process, bool in_musl, std::uint64_t now_ns) const {
        lock_totals totals = lock_totals::of(all, words, in_musl);
        process.futexes = counts_of(totals.all);
        for (const futex_waits &each : totals.words)
            process.each_lock.push_back(
                {.address = each.key.address, .from = source::futexes, .so_far = counts_of(each.totals)});
        for (const hf_futex_sleeper &each : sleepers) {
            if (is_lock_sleeper(each, words, in_musl))
                add_sleeper(each, now_ns, process);
        }
    }
};

} // namespace

struct observer::sources {
    monitor_list monitors;
    lock_statistics statistics;
    lock_names names;
    library_detector libraries;
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
            futexes_of_process &process = found[process_of(each.key)];
            if (each.key.address == 0)
                process.all = each.totals;
            else
                process.words.push_back(each);
        }
        for (const hf_futex_sleeper &each : sleepers)
            found[process_of(each.key)].sleepers.push_back(each);
        return found;
    }

    // The kernel would keep them for as long as we run.
    void forget_ended(const std::vector<futex_waits> &read, const std::map<process_id, bool> &alive) const {
        for (const futex_waits &each : read) {
            if (!alive.contains(process_of(each.key)))
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
        libraries_mapped libraries = sources_->libraries.of(each.id);
        process_sample process{.id = each.id,
                               .name = each.name,
                               .user = user_named(each.uid),
                               .under_holdfast = libraries.holdfasts,
                               .threads = each.threads,
                               .counted_ns = futexes_read_ns};
        auto seen = futexes.find(each.id);
        if (seen != futexes.end())
            seen->second.put_into(process, libraries.musl, futexes_read_ns);
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
    sources_->libraries.forget_others();
    if (sources_->places)
        sources_->places->forget_ended();
    if (sources_->futexes)
        sources_->forget_ended(read, alive);
    return found;
}

} // namespace holdfast::cli::top
