// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/wait_summary.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <map>

#include "cli/common/say.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

constexpr std::size_t locks_shown = 8, places_shown = 3, callers_shown = 5;
constexpr double share_least = 0.005; // 0% says nothing

// Of a lock's holders.
struct absences {
    std::size_t times = 0;
    std::uint64_t ns = 0;
};

std::string waiting_time(std::uint64_t ns) {
    return format_duration_ns(static_cast<double>(ns));
}

std::string place_in_words(const wait_place &place) {
    const call_frame *frame = place_in_program(place.where);
    if (!frame)
        return fmt::format("{:3.0f}% where nothing could be read", 100 * place.share);
    std::string callers = callers_in_words(place.where, callers_shown);
    std::string around = callers.find(" < ") == std::string::npos ? "" : callers.substr(callers.find(" < "));
    return fmt::format("{:3.0f}% {}{}", 100 * place.share, text_of(*frame),
                       is_named(*frame) ? around : named_caller_of(place.where));
}

std::string holder_in_words(const wait_place &place) {
    return fmt::format("{:3.0f}% {} ({}) in {}", 100 * place.share,
                       place.thread_name.empty() ? "thread" : place.thread_name, place.thread,
                       place.where.empty() ? "a place that could not be read" : place_in_words(place.where));
}

template <class Words>
void add_places(std::string &text, const char *title, const std::vector<wait_place> &places, Words words) {
    for (std::size_t i = 0; i < std::min(places.size(), places_shown); i++) {
        if (i == 0 || places[i].share >= share_least)
            text += fmt::format("    {:<10} {}\n", i == 0 ? title : "", words(places[i]));
    }
}

std::string lock_in_words(const lock_profile &lock, const absences &away, double seconds, std::uint64_t all_ns) {
    std::string text = fmt::format(
        "{:5.1f}%  {}\n    {} waits, {} in all, {} on average, the longest {}; {:.2f} threads waited on average{}\n",
        100 * static_cast<double>(lock.waited_ns) / static_cast<double>(std::max<std::uint64_t>(all_ns, 1)), lock.name,
        format_count(static_cast<double>(lock.waits)), waiting_time(lock.waited_ns),
        waiting_time(lock.waited_ns / std::max<std::uint64_t>(lock.waits, 1)), waiting_time(lock.longest_ns),
        static_cast<double>(lock.waited_ns) / 1e9 / seconds,
        lock.seen == lock.waits ? "" : fmt::format(" (from {} waits seen)", lock.seen));
    if (!lock.function.empty())
        text += fmt::format("    {:<10} {}\n", "by", lock.function);
    add_places(text, "waits in", lock.waiters, place_in_words);
    const char *holding = lock.is_held() ? "held by" : "woken by";
    add_places(text, holding, lock.holders, holder_in_words);
    if (lock.holders.empty())
        text += fmt::format("    {:<10} nobody woke its waiters meanwhile: they go on waiting, or time was over\n",
                            holding);
    if (away.times != 0)
        text +=
            fmt::format("    {:<10} {} of its holders left the CPU unwillingly, for {} in all, while others waited\n",
                        "preempted", away.times, waiting_time(away.ns));
    return text;
}

absences absences_of(const recording &of, const watched_process &process, const lock_profile &lock) {
    absences sum;
    for (const holder_preemption &each : of.preemptions()) {
        if (each.process != process || !std::ranges::binary_search(lock.addresses, each.address))
            continue;
        sum.times++;
        sum.ns += each.ended_ns - each.begun_ns;
    }
    return sum;
}

std::string locks_section(const char *title, const std::vector<lock_profile> &locks, const recording &of,
                          const watched_process &process, double seconds) {
    std::uint64_t all_ns = 0;
    for (const lock_profile &each : locks)
        all_ns += each.waited_ns;
    if (locks.empty())
        return "";
    std::string text = fmt::format("\n{}: {} of waiting\n", title, waiting_time(all_ns));
    for (std::size_t i = 0; i < std::min(locks.size(), locks_shown); i++)
        text += lock_in_words(locks[i], absences_of(of, process, locks[i]), seconds, all_ns);
    if (locks.size() > locks_shown)
        text += fmt::format("  and {} more\n", locks.size() - locks_shown);
    return text;
}

std::vector<watched_process> by_waiting(const recording &of, const waited_things &things) {
    std::map<watched_process, std::uint64_t> waited_ns;
    for (const lock_wait &each : of.waits())
        waited_ns[each.process] += things.of(each).is_lock ? each.stands_for_ns() : 0;
    std::vector<watched_process> sorted = of.processes();
    std::ranges::stable_sort(sorted, std::greater(), [&](const auto &each) { return waited_ns[each]; });
    return sorted;
}

} // namespace

std::string wait_summary(const recording &of, const wait_profile &profile) {
    double seconds = std::max(of.about().value("seconds", 0.0), 1e-9);
    std::string text = fmt::format("recorded for {:.3g} s", seconds);
    if (std::uint64_t lost = of.about().value("lost", std::uint64_t{0}))
        text += fmt::format("; {} pieces of waits are missing, for want of room", lost);
    text += "; waits that spin are not seen";
    std::string why_no_older = of.about().value("why_no_older_waits", "");
    text += (why_no_older.empty() ? "" : "; " + with_controls_shown(why_no_older)) + "\n";
    if (profile.is_empty())
        return text + "no thread waited in a futex\n";
    waited_things things = profile.things(of);
    for (const watched_process &process : by_waiting(of, things)) {
        std::map<wait_class, std::vector<lock_profile>> by_class;
        for (lock_profile &each : profile.of(process, of))
            by_class[each.kind.is].push_back(std::move(each));
        text += fmt::format("\n{}\n", of.process_name(process));
        text += locks_section("locks", by_class[wait_class::lock], of, process, seconds);
        text += locks_section("futexes of its own, which may be locks, conditions or queues", by_class[wait_class::own],
                              of, process, seconds);
        text += locks_section("conditions, semaphores, joins and other sleeps", by_class[wait_class::other], of,
                              process, seconds);
    }
    return text;
}

} // namespace holdfast::cli::report
