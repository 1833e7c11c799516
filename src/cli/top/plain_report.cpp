// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/plain_report.hpp"

#include <cmath>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <optional>
#include <string_view>

#include "cli/common/csv.hpp"
#include "cli/top/page.hpp"

namespace holdfast::cli::top {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t batch_columns = 160;

json or_null(std::optional<double> value) {
    return value ? json(*value) : json();
}

json json_of(const distribution &times) {
    json buckets = json::array();
    for (const auto &each : times.buckets)
        buckets.push_back({{"from_ns", each.from_ns}, {"below_ns", each.below_ns}, {"count", each.count}});
    return buckets;
}

json json_of(const rates &now) {
    return {{"acquisitions_per_s", or_null(now.acquisitions_per_s)},
            {"contended_share", or_null(now.contended_share)},
            {"waits_per_s", now.waits_per_s},
            {"waiters", nothing_was_timed(now) ? json() : json(now.waiters)},
            {"waiting_now", now.waiting_now},
            {"mean_wait_ns", or_null(now.mean_wait_ns)},
            {"spun_share", or_null(now.spun_share)},
            {"preemptions_per_s", or_null(now.preemptions_per_s)},
            {"holders", or_null(now.holders)},
            {"holders_within", or_null(now.holders_within)},
            {"other_sleeps_per_s", or_null(now.other_sleeps_per_s)},
            {"waiting", json_of(now.waiting)},
            {"holding", json_of(now.holding)}};
}

json json_of(const counts &so_far) {
    return {{"acquisitions", so_far.acquisitions},
            {"contended", so_far.contended},
            {"waits", so_far.waits},
            {"timed_waits", so_far.timed_waits},
            {"waited_ns", so_far.waited_ns},
            {"blocked_ns", so_far.blocked_ns},
            {"held_ns", so_far.held_ns},
            {"held_within_ns", 1.96 * std::sqrt(so_far.held_variance_ns2)},
            {"preemptions", so_far.preemptions},
            {"preempted_ns", so_far.preempted_ns},
            {"longest_preempted_ns", so_far.longest_preempted_ns},
            {"holder_sleeps", so_far.holder_sleeps},
            {"holder_asleep_ns", so_far.holder_asleep_ns},
            {"other_sleeps", so_far.other_sleeps},
            {"longest_wait_ns", so_far.longest_wait_ns},
            {"longest_hold_ns", so_far.longest_hold_ns},
            {"longest_holder", so_far.longest_holder}};
}

const char *name_of(source from) {
    return from == source::locks ? "locks" : "futexes";
}

json json_of(const thread_opportunity &each) {
    return {{"thread", each.thread},
            {"name", each.name},
            {"held", each.held},
            {"opportunity", each.opportunity},
            {"counted", each.counted}};
}

json json_of(const std::vector<place_sample> &places, bool of_holders) {
    json made = json::array();
    for (const place_sample &each : places) {
        json place = {{"where", each.where},
                      {"function", each.function},
                      {"callers", each.callers},
                      {"share", each.share},
                      {"waits_seen", each.waits_seen}};
        if (of_holders) {
            place["thread"] = each.thread;
            place["name"] = each.thread_name;
        }
        made.push_back(std::move(place));
    }
    return made;
}

json json_of(const lock_change &lock) {
    json threads = json::array();
    for (const thread_opportunity &each : lock.threads)
        threads.push_back(json_of(each));
    return {{"address", fmt::format("{:#x}", lock.address)},
            {"name", lock.name},
            {"kind", lock.kind},
            {"is_lock", lock.is_lock},
            {"is_held", lock.is_held},
            {"from", name_of(lock.from)},
            {"holder_was_in", lock.holder_was_in},
            {"waits_in", json_of(lock.waits_in, false)},
            {"held_in", json_of(lock.held_in, true)},
            {"now", json_of(lock.now)},
            {"so_far", json_of(lock.so_far)},
            {"threads", std::move(threads)},
            {"jain_opportunity", or_null(lock.jain_opportunity)}};
}

json json_of(const process_change &process) {
    json locks = json::array(), rules = json::array();
    for (const lock_change &each : process.each_lock)
        locks.push_back(json_of(each));
    for (const rule_sample &each : process.rules)
        rules.push_back({{"name", each.name}, {"matched", each.matched}});
    return {{"pid", process.id.pid},       {"started_ticks", process.id.started_ticks}, {"name", process.name},
            {"user", process.user},        {"under_holdfast", process.under_holdfast},  {"from", name_of(process.from)},
            {"now", json_of(process.now)}, {"so_far", json_of(process.so_far)},         {"locks", std::move(locks)},
            {"rules", std::move(rules)}};
}

json json_of(const monitor_change &monitor) {
    return {{"socket", monitor.now.socket},
            {"runs", monitor.now.runs},
            {"detail", monitor.now.sentence},
            {"registered_processes", monitor.now.registered_processes},
            {"preempted_critical_sections", monitor.now.preempted_now},
            {"preemptions_per_s", monitor.preemptions_per_s},
            {"sleeps_per_s", monitor.sleeps_per_s}};
}

} // namespace

json json_of(const change &what, const ranking &how) {
    json monitors = json::array(), processes = json::array();
    for (const monitor_change &each : what.monitors)
        monitors.push_back(json_of(each));
    for (const process_change &each : ranked(what.processes, how))
        processes.push_back(json_of(each));
    return {{"version", 1},
            {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
            {"seconds", what.seconds},
            {"futexes_seen", what.why_no_futexes.empty()},
            {"why_no_futexes", what.why_no_futexes},
            {"uncounted_sleeps", what.uncounted_sleeps},
            {"stacks_seen", what.why_no_stacks.empty()},
            {"why_no_stacks", what.why_no_stacks},
            {"older_waits_seen", what.why_no_older.empty()},
            {"why_no_older_waits", what.why_no_older},
            {"spun_share", or_null(what.spun_share())},
            {"preemptions_per_s", what.preemptions_per_s()},
            {"monitors", std::move(monitors)},
            {"processes", std::move(processes)}};
}

namespace {

// The one that held it most while others waited.
std::string holder_of(const lock_change &lock) {
    if (lock.held_in.empty())
        return "";
    const place_sample &first = lock.held_in.front();
    return fmt::format("{} ({})", first.thread_name, first.thread);
}

std::string csv_of(const std::string &time, const row &what) {
    const rates &now = what.lock ? what.lock->now : what.process->now;
    const counts &so_far = what.lock ? what.lock->so_far : what.process->so_far;
    auto place = [&](const std::vector<place_sample> lock_change::*places) {
        return what.lock && !(what.lock->*places).empty() ? (what.lock->*places).front().where : "";
    };
    const std::string fields[] = {
        time,
        what.lock ? "lock" : "process",
        std::to_string(what.process->id.pid),
        csv_text(what.process->user),
        csv_text(what.process->name),
        name_of(what.lock ? what.lock->from : what.process->from),
        what.lock ? fmt::format("{:#x}", what.lock->address) : "",
        csv_text(what.lock ? what.lock->name : ""),
        csv_text(what.lock ? what.lock->kind : ""),
        what.lock ? (what.lock->is_lock ? "1" : "0") : "",
        csv_number(now.acquisitions_per_s),
        csv_number(now.contended_share),
        csv_number(now.waits_per_s),
        csv_number(nothing_was_timed(now) ? std::nullopt : std::optional(now.waiters)),
        std::to_string(now.waiting_now),
        csv_number(now.mean_wait_ns),
        csv_number(now.spun_share),
        csv_number(now.preemptions_per_s),
        csv_number(now.holders),
        csv_number(now.holders_within),
        csv_number(now.other_sleeps_per_s),
        std::to_string(so_far.longest_wait_ns),
        std::to_string(so_far.longest_hold_ns),
        std::to_string(so_far.preempted_ns),
        csv_text(place(&lock_change::waits_in)),
        csv_text(place(&lock_change::held_in)),
        csv_text(what.lock ? holder_of(*what.lock) : ""),
    };
    return csv_line(fields);
}

} // namespace

std::string csv_heading() {
    return "time,what,pid,user,program,from,address,lock,kind,is_lock,acquisitions_per_s,contended_share,waits_per_s,"
           "waiters,waiting_now,mean_wait_ns,spun_share,preemptions_per_s,holders,holders_within,other_sleeps_per_s,"
           "longest_wait_ns,longest_hold_ns,preempted_ns,waits_in,held_in,held_by\n";
}

std::string csv_of(const change &what, const ranking &how, std::size_t locks_of_each) {
    std::string text, time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    std::vector<process_change> processes = ranked(what.processes, how);
    for (const row &each : rows_of(processes, locks_of_each))
        text += csv_of(time, each);
    return text;
}

std::string text_of(const change &what, const ranking &how, std::size_t locks_of_each) {
    std::string text;
    auto add = [&](const line &each) {
        text += each.text.substr(0, each.text.find_last_not_of(' ') + 1);
        text += '\n';
    };
    for (const line &each : summary(what, batch_columns))
        add(each);
    add(table_heading(batch_columns));
    std::vector<process_change> processes = ranked(what.processes, how);
    constexpr std::string_view below_locks = "          ";
    for (const row &each : rows_of(processes, locks_of_each)) {
        add(table_line(each, batch_columns));
        if (each.lock) {
            for (const std::string &words : places_in_words(*each.lock, batch_columns - below_locks.size()))
                add({.text = std::string(below_locks) + words});
        }
    }
    return text;
}

} // namespace holdfast::cli::top
