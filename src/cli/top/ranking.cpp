// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/ranking.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/core.h>
#include <utility>

namespace holdfast::cli::top {
namespace {

constexpr std::array names = {"waiting", "acquisitions", "contended", "preemptions", "pid", "name"};

// Of what is not known, less than nothing.
double known(std::optional<double> value) {
    return value.value_or(-1);
}

double weight(const rates &now, sort_key by) {
    switch (by) {
    case sort_key::acquisitions: return known(now.acquisitions_per_s);
    case sort_key::contended: return known(now.contended_share);
    case sort_key::preemptions: return known(now.preemptions_per_s);
    case sort_key::waiting:
    case sort_key::pid:
    case sort_key::name: break;
    }
    return now.waiters;
}

// More goes before less: of what is asked for, and where that is the same, of the threads that wait.
std::pair<double, double> rank(const rates &now, sort_key by) {
    return {weight(now, by), now.waiters};
}

// At last the number, so that lines do not change places without a reason.
bool goes_before(const process_change &a, const process_change &b, sort_key by) {
    if (by == sort_key::name && a.name != b.name)
        return a.name < b.name;
    if (by != sort_key::name && by != sort_key::pid && rank(a.now, by) != rank(b.now, by))
        return rank(a.now, by) > rank(b.now, by);
    return a.id < b.id;
}

// Idle threads sleep for conditions all the time: those come last.
bool lock_goes_before(const lock_change &a, const lock_change &b, sort_key by) {
    if (a.is_lock != b.is_lock)
        return a.is_lock;
    if (rank(a.now, by) != rank(b.now, by))
        return rank(a.now, by) > rank(b.now, by);
    return a.address < b.address;
}

bool contains(const std::string &text, const std::string &part) {
    auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return !std::ranges::search(text, part, same).empty() || part.empty();
}

bool passes(const process_change &process, const std::string &filter) {
    return contains(process.name, filter) || contains(process.user, filter) ||
           contains(std::to_string(process.id.pid), filter);
}

bool passes(const lock_change &lock, const std::string &filter) {
    return contains(lock.name, filter) || contains(fmt::format("{:#x}", lock.address), filter);
}

bool is_idle(const rates &now) {
    return now.waiting_now == 0 && now.waits_per_s == 0 && now.other_sleeps_per_s.value_or(0) == 0 &&
           now.acquisitions_per_s.value_or(0) == 0;
}

bool is_shown(const process_change &process, const ranking &how) {
    return how.idle || process.under_holdfast || !is_idle(process.now);
}

} // namespace

const std::vector<std::string> &sort_key_names() {
    static const std::vector<std::string> all(names.begin(), names.end());
    return all;
}

const char *name_of(sort_key key) {
    return names[static_cast<std::size_t>(key)];
}

std::optional<sort_key> sort_key_named(std::string_view name) {
    auto found = std::ranges::find(names, name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<sort_key>(found - names.begin()));
}

sort_key next_after(sort_key key) {
    return static_cast<sort_key>((static_cast<std::size_t>(key) + 1) % names.size());
}

std::vector<process_change> ranked(const std::vector<process_change> &processes, const ranking &how) {
    std::vector<process_change> shown;
    for (const process_change &each : processes) {
        if (!is_shown(each, how))
            continue;
        process_change process = each;
        bool as_a_whole = passes(process, how.filter);
        std::erase_if(process.each_lock, [&](const lock_change &lock) {
            return (!as_a_whole && !passes(lock, how.filter)) || (!how.idle && is_idle(lock.now));
        });
        if (!as_a_whole && process.each_lock.empty())
            continue;
        std::ranges::sort(process.each_lock,
                          [&](const auto &a, const auto &b) { return lock_goes_before(a, b, how.by); });
        shown.push_back(std::move(process));
    }
    std::ranges::sort(shown, [&](const auto &a, const auto &b) { return goes_before(a, b, how.by); });
    return shown;
}

} // namespace holdfast::cli::top
