// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

#include "cli/top/printable.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::top {
namespace {

std::string count_or_dash(std::optional<double> value) {
    return value ? format_count(*value) : "-";
}

std::string share_or_dash(std::optional<double> value) {
    return value ? fmt::format("{:.0f}%", 100 * *value) : "-";
}

std::string time_or_dash(std::optional<double> value) {
    return value ? format_duration_ns(*value) : "-";
}

std::string time_or_dash(std::uint64_t value) {
    return value ? format_duration_ns(static_cast<double>(value)) : "-";
}

// Two digits behind the point are what a mean of few threads needs, and a tenth of many.
std::string threads(double value) {
    return value == 0 ? "0" : fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

struct figure {
    const char *title;
    std::size_t columns;
    std::string (*text)(const rates &now, const counts &so_far);
};

const std::array figures = {
    figure{"ACQ/S", 6, [](const rates &now, const counts &) { return count_or_dash(now.acquisitions_per_s); }},
    figure{"CONT", 4, [](const rates &now, const counts &) { return share_or_dash(now.contended_share); }},
    figure{"WAIT/S", 6, [](const rates &now, const counts &) { return format_count(now.waits_per_s); }},
    figure{"WAITERS", 7,
           [](const rates &now, const counts &) { return nothing_was_timed(now) ? "-" : threads(now.waiters); }},
    figure{"SPIN", 4, [](const rates &now, const counts &) { return share_or_dash(now.spun_share); }},
    figure{"PREE/S", 6, [](const rates &now, const counts &) { return count_or_dash(now.preemptions_per_s); }},
    // From here on where there is room:
    figure{"MEAN-WAIT", 9, [](const rates &now, const counts &) { return time_or_dash(now.mean_wait_ns); }},
    figure{"MAX-WAIT", 8, [](const rates &, const counts &so_far) { return time_or_dash(so_far.longest_wait_ns); }},
    figure{"HELD", 5,
           [](const rates &now, const counts &) { return now.holders ? threads(*now.holders) : std::string("-"); }},
    figure{"MAX-HOLD", 8, [](const rates &, const counts &so_far) { return time_or_dash(so_far.longest_hold_ns); }},
    figure{"PREE-TIME", 9, [](const rates &, const counts &so_far) { return time_or_dash(so_far.preempted_ns); }},
    figure{"OTHER/S", 7, [](const rates &now, const counts &) { return count_or_dash(now.other_sleeps_per_s); }},
};
constexpr std::size_t figures_always = 6;

constexpr std::size_t pid_columns = 7, user_columns = 8, sees_columns = 6, name_columns_min = 15, name_columns_max = 48;

// How a line is divided: the name takes what the figures leave.
struct division {
    std::size_t name_columns;
    std::size_t figures_shown;
};

division divide(std::size_t columns) {
    std::size_t fixed = pid_columns + 1 + user_columns + 1 + 1 + sees_columns;
    std::size_t shown = 0, taken = fixed + name_columns_min;
    for (const figure &each : figures) {
        // Room for names is worth more than the less important figures.
        if (taken + 1 + each.columns + (shown >= figures_always ? 10 : 0) > columns)
            break;
        taken += 1 + each.columns;
        shown++;
    }
    std::size_t left = columns > taken ? columns - taken : 0;
    return {.name_columns = std::min(name_columns_min + left, name_columns_max), .figures_shown = shown};
}

const char *sees(const process_change &process) {
    if (process.from == source::locks)
        return "locks";
    return process.under_holdfast ? "futex*" : "futex";
}

std::string lock_label(const lock_change &lock) {
    std::string address = fmt::format("{:#x}", lock.address);
    return lock.name.empty() ? address : lock.name;
}

std::string first_columns(const row &what, const division &how) {
    if (!what.lock)
        return fitted(std::to_string(what.process->id.pid), pid_columns, side::right) + " " +
               fitted(what.process->user, user_columns) + " " + fitted(what.process->name, how.name_columns) + " " +
               fitted(sees(*what.process), sees_columns);
    std::size_t columns = user_columns + 1 + how.name_columns;
    std::string branch = locale_is_utf8() ? "└ " : "` ";
    return std::string(pid_columns + 1, ' ') + fitted(branch + lock_label(*what.lock), columns) + " " +
           fitted(what.lock->kind.empty() ? "futex" : what.lock->kind, sees_columns);
}

line cut(std::string text, style how, std::size_t columns) {
    return {.text = columns_of(text) > columns ? fitted(text, columns) : std::move(text), .how = how};
}

std::string monitors_in_words(const change &what) {
    std::size_t running = 0, now = 0, processes = 0;
    for (const monitor_change &each : what.monitors) {
        running += each.now.runs;
        now += each.now.preempted_now;
        processes += each.now.registered_processes;
    }
    // The service comes first; where there is none, `holdfast run` may have one in reserve.
    if (running == 0) {
        auto most = std::ranges::find_if(what.monitors, [](const monitor_change &each) { return each.now.answers; });
        if (most == what.monitors.end())
            most = what.monitors.begin();
        return most == what.monitors.end() ? "no monitor" : "no monitor: " + most->now.sentence;
    }
    return fmt::format("{}, {}; critical sections preempted: {}/s, {} now",
                       format_number_of(static_cast<unsigned>(running), "monitor"),
                       processes == 1 ? "1 process" : fmt::format("{} processes", processes),
                       format_count(what.preemptions_per_s()), now);
}

} // namespace

std::string bar(double share, std::size_t columns) {
    auto full = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns)));
    if (full == 0 && share > 0 && columns > 0)
        full = 1; // what is there is to be seen
    std::string text;
    for (std::size_t i = 0; i < columns; i++)
        text += i < full ? (locale_is_utf8() ? "█" : "#") : " ";
    return text;
}

std::vector<row> rows_of(const std::vector<process_change> &processes, std::size_t locks_of_each) {
    std::vector<row> rows;
    for (const process_change &process : processes) {
        rows.push_back({.process = &process});
        for (std::size_t i = 0; i < std::min(locks_of_each, process.each_lock.size()); i++)
            rows.push_back({.process = &process, .lock = &process.each_lock[i]});
    }
    return rows;
}

std::vector<line> summary(const change &what, std::size_t columns) {
    std::string modes = "waiters under Holdfast: ";
    if (std::optional<double> spun = what.spun_share())
        modes += fmt::format("spin {} {:.0f}%, block {:.0f}%", bar(*spun, 10), 100 * *spun, 100 * (1 - *spun));
    else
        modes += "none";
    std::string futexes = what.why_no_futexes.empty() ? "other programs: seen" : what.why_no_futexes;
    if (what.uncounted_sleeps != 0)
        futexes += fmt::format(" but for {} waits, for which there was no room", what.uncounted_sleeps);
    if (what.stacks_are_missed())
        futexes += "; " + what.why_no_stacks;
    if (!what.why_no_older.empty())
        futexes += "; " + what.why_no_older;
    return {cut(monitors_in_words(what), style::plain, columns), cut(modes + "; " + futexes, style::plain, columns)};
}

line table_heading(std::size_t columns) {
    division how = divide(columns);
    std::string text = fitted("PID", pid_columns, side::right) + " " + fitted("USER", user_columns) + " " +
                       fitted("PROGRAM", how.name_columns) + " " + fitted("SEES", sees_columns);
    for (std::size_t i = 0; i < how.figures_shown; i++)
        text += " " + fitted(figures[i].title, figures[i].columns, side::right);
    return cut(text, style::heading, columns);
}

line table_line(const row &what, std::size_t columns) {
    division how = divide(columns);
    const rates &now = what.lock ? what.lock->now : what.process->now;
    const counts &so_far = what.lock ? what.lock->so_far : what.process->so_far;
    bool kernel_only = (what.lock ? what.lock->from : what.process->from) == source::futexes;
    std::string text = first_columns(what, how);
    for (std::size_t i = 0; i < how.figures_shown; i++)
        text += " " + fitted(figures[i].text(now, so_far), figures[i].columns, side::right);
    return cut(text, kernel_only ? style::dim : style::plain, columns);
}

namespace {

// Powers of two of nanoseconds, so many of them in one that the histogram fits.
struct step {
    std::uint64_t from_ns;
    std::uint64_t waits = 0;
    std::uint64_t holds = 0;
};

unsigned power_of(std::uint64_t value) {
    return value == 0 ? 0 : 63 - static_cast<unsigned>(__builtin_clzll(value));
}

std::vector<step> steps_of(const distribution &waits, const distribution &holds, std::size_t steps_max) {
    unsigned lowest = 64, highest = 0;
    for (const distribution *each : {&waits, &holds}) {
        if (!each->buckets.empty()) {
            lowest = std::min(lowest, power_of(each->buckets.front().from_ns));
            highest = std::max(highest, power_of(each->buckets.back().from_ns));
        }
    }
    if (lowest > highest || steps_max == 0)
        return {};
    unsigned width = 1;
    while ((highest - lowest) / width + 1 > steps_max)
        width++;
    std::vector<step> steps;
    for (unsigned power = lowest; power <= highest; power += width)
        steps.push_back({.from_ns = std::uint64_t{1} << power});
    for (const auto &each : waits.buckets)
        steps[(power_of(each.from_ns) - lowest) / width].waits += each.count;
    for (const auto &each : holds.buckets)
        steps[(power_of(each.from_ns) - lowest) / width].holds += each.count;
    return steps;
}

std::string whole(std::uint64_t count) {
    return count < 1000 ? std::to_string(count) : format_count(static_cast<double>(count));
}

std::string histogram_side(std::uint64_t count, std::uint64_t highest, std::size_t columns) {
    constexpr std::size_t count_columns = 6;
    std::string text = fitted(count ? whole(count) : "", count_columns, side::right) + " ";
    double share = highest == 0 ? 0 : static_cast<double>(count) / static_cast<double>(highest);
    return text + bar(share, columns > count_columns + 1 ? columns - count_columns - 1 : 0);
}

void add_histogram(std::vector<line> &lines, const distribution &waits, const distribution &holds, page_size size) {
    constexpr std::size_t label_columns = 10;
    std::size_t room = size.lines > lines.size() + 1 ? size.lines - lines.size() - 1 : 0;
    std::vector<step> steps = steps_of(waits, holds, room);
    std::size_t half = size.columns > label_columns + 3 ? (size.columns - label_columns - 3) / 2 : 0;
    lines.push_back(
        cut(fitted("from", label_columns, side::right) + "  " + fitted("waiting", half) + " " + fitted("holding", half),
            style::heading, size.columns));
    std::uint64_t most_waits = 0, most_holds = 0;
    for (const step &each : steps) {
        most_waits = std::max(most_waits, each.waits);
        most_holds = std::max(most_holds, each.holds);
    }
    for (const step &each : steps)
        lines.push_back(cut(fitted(format_duration_ns(static_cast<double>(each.from_ns)), label_columns, side::right) +
                                "  " + histogram_side(each.waits, most_waits, half) + " " +
                                histogram_side(each.holds, most_holds, half),
                            style::plain, size.columns));
    if (steps.empty() && room > 0)
        lines.push_back(cut("nothing was timed", style::dim, size.columns));
}

std::string quantiles(const char *title, const distribution &times, std::uint64_t longest_ns) {
    if (times.buckets.empty())
        return fmt::format("{}: nothing was timed", title);
    auto at_most = [&](double share) { return format_duration_ns(static_cast<double>(*times.quantile_ns(share))); };
    return fmt::format("{}: half within {}, 99% within {}{}", title, at_most(0.5), at_most(0.99),
                       longest_ns == 0 ? "" : ", longest ever " + format_duration_ns(static_cast<double>(longest_ns)));
}

std::string holder_in_words(const counts &so_far) {
    if (so_far.longest_holder == 0)
        return "";
    return fmt::format(" by thread {}", so_far.longest_holder);
}

std::string absences_in_words(const counts &so_far) {
    auto duration = [](std::uint64_t ns) { return format_duration_ns(static_cast<double>(ns)); };
    std::string words =
        fmt::format("holders preempted: {} times, for {}", whole(so_far.preemptions), duration(so_far.preempted_ns));
    if (so_far.longest_preempted_ns != 0)
        words += fmt::format(", one for {}", duration(so_far.longest_preempted_ns));
    if (so_far.holder_sleeps != 0)
        words +=
            fmt::format("; slept: {} times, for {}", whole(so_far.holder_sleeps), duration(so_far.holder_asleep_ns));
    return words;
}

std::string in_percent(double share) {
    return fmt::format("{:.0f}%", 100 * share);
}

// "held by: compactor (31530) 41% in compact_the_cache (cache.cpp:85), reader (31531) 3%": those that held it most, in
// one line. Of a lock that counts for itself, shares of the time, and where each was when it woke a waiter; of others,
// shares of the time that was waited.
std::string holders_in_words(const lock_change &lock, std::size_t columns) {
    constexpr double least = 0.005; // 0% says nothing
    std::vector<place_sample> holders = lock.held_in;
    bool of_waiting = lock.from == source::futexes;
    if (!of_waiting) {
        holders.clear();
        for (const thread_opportunity &each : lock.threads) {
            auto place = std::ranges::find(lock.held_in, each.thread, &place_sample::thread);
            holders.push_back({.where = place == lock.held_in.end() ? "" : place->where,
                               .thread = each.thread,
                               .thread_name = each.name,
                               .share = each.held});
        }
        std::ranges::sort(holders, [](const auto &a, const auto &b) { return a.share > b.share; });
    }
    std::string words;
    for (const place_sample &each : holders) {
        if (each.share < least)
            continue;
        std::string word = fmt::format(
            "{}{} ({}) {}{}",
            !words.empty() ? ", "
            : of_waiting   ? (lock.is_held ? "held, of the time waited, by: " : "woken, of the time waited, by: ")
                           : "held by: ",
            each.thread_name.empty() ? "thread" : each.thread_name, each.thread, in_percent(each.share),
            each.where.empty() ? "" : " in " + each.where);
        if (columns_of(words + word) > columns && !words.empty())
            break;
        words += word;
    }
    return words;
}

// "waits in: lookup_in_cache (cache.cpp:120) 96%, evict (cache.cpp:40) 4%", and how the first comes there.
std::vector<std::string> waiters_in_words(const lock_change &lock, std::size_t columns) {
    std::string words;
    for (const place_sample &each : lock.waits_in) {
        std::string word = fmt::format("{}{} {}", words.empty() ? "waits in: " : ", ",
                                       each.where.empty() ? "what can't be read" : each.where, in_percent(each.share));
        if (columns_of(words + word) > columns && !words.empty())
            break;
        words += word;
    }
    if (words.empty())
        return {};
    const std::string &callers = lock.waits_in.front().callers;
    if (callers.find(" < ") == std::string::npos)
        return {words};
    return {words, "  " + callers};
}

// In words, in pieces of at most `columns`; never more than `lines_max` of them.
std::vector<std::string> opportunities_in_words(const lock_change &lock, std::size_t columns) {
    constexpr std::size_t lines_max = 3;
    if (lock.threads.empty())
        return {};
    bool estimated = std::ranges::any_of(lock.threads, [](const auto &each) { return !each.counted; });
    std::vector<std::string> lines{std::string("opportunity of threads") + (estimated ? " (estimated)" : "")};
    if (lock.jain_opportunity)
        lines.back() += fmt::format(", Jain's index {:.2f}", *lock.jain_opportunity);
    lines.back() += ":";
    for (const thread_opportunity &each : lock.threads) {
        std::string word = fmt::format(" {} {:.0f}%", each.thread, 100 * each.opportunity);
        if (lines.back().size() + word.size() > columns) {
            if (lines.size() == lines_max)
                return lines;
            lines.emplace_back(" ");
        }
        lines.back() += word;
    }
    return lines;
}

} // namespace

std::vector<std::string> places_in_words(const lock_change &lock, std::size_t columns) {
    std::vector<std::string> lines = waiters_in_words(lock, columns);
    std::string holders = lock.held_in.empty() ? "" : holders_in_words(lock, columns);
    if (!holders.empty())
        lines.push_back(holders);
    return lines;
}

std::vector<line> lock_page(const row &what, page_size size, bool since_beginning) {
    const lock_change &lock = *what.lock;
    const distribution &waits = since_beginning ? lock.so_far.waiting : lock.now.waiting;
    const distribution &holds = since_beginning ? lock.so_far.holding : lock.now.holding;
    std::vector<line> lines;
    auto add = [&](const std::string &text, style how = style::plain) {
        lines.push_back(cut(text, how, size.columns));
    };
    std::string address = fmt::format("{:#x}", lock.address);
    add(fmt::format("{} {}: {} {}{}", what.process->name, what.process->id.pid,
                    lock.from == source::locks ? lock.kind
                    : lock.kind.empty()        ? "futex, as the kernel sees it:"
                                               : lock.kind + ", as the kernel sees it:",
                    lock.name, lock.name.starts_with(address) ? "" : " at " + address),
        style::title);
    lines.push_back(table_heading(size.columns));
    lines.push_back(table_line(what, size.columns));
    add(quantiles("waiting", waits, lock.so_far.longest_wait_ns));
    for (const std::string &each : waiters_in_words(lock, size.columns))
        add(each);
    if (std::string holders = holders_in_words(lock, size.columns); !holders.empty() && lock.from == source::futexes)
        add(holders);
    if (lock.from == source::locks) {
        add(quantiles("holding", holds, lock.so_far.longest_hold_ns) + holder_in_words(lock.so_far));
        if (std::string holders = holders_in_words(lock, size.columns); !holders.empty())
            add(holders);
        add(absences_in_words(lock.so_far));
        for (const std::string &each : opportunities_in_words(lock, size.columns))
            add(each);
        if (!lock.holder_was_in.empty())
            add("one was preempted in: " + lock.holder_was_in);
    }
    add(since_beginning ? "since its counting began   (t: since the last look)"
                        : "since the last look   (t: since its counting began)",
        style::dim);
    add_histogram(lines, waits, holds, size);
    lines.resize(std::min(lines.size(), size.lines));
    return lines;
}

std::vector<line> help_page(page_size size) {
    static constexpr std::array text = {
        "Keys",
        "  up, down, page up, page down  choose a line    enter, right  look into it",
        "  escape, left  back                             q  quit",
        "  s  sort by the next key                        space, p  pause",
        "  /  only what contains a text                   i  show the idle too",
        "  l  locks of each process: 2, 8, none           + -  look more, less often",
        "  w  write a file (JSON)",
        "Columns, of the time since the last look",
        "  SEES     locks: counted by Holdfast's locks; futex: not under Holdfast, seen",
        "           by the kernel; futex*: under Holdfast, but its counts can't be read",
        "  ACQ/S    locks taken a second            CONT  share that found them held",
        "  WAIT/S   waits for locks a second        WAITERS  threads waiting, on average",
        "  SPIN     share of the waiting time that was spun; the rest was slept",
        "  PREE/S   critical sections preempted     HELD  locks held, on average",
        "  OTHER/S  other sleeps in futexes: conditions, joins, timers",
        "  MAX-WAIT, MAX-HOLD, PREE-TIME  since the counting began",
        "The kernel's: a sleep is a lock's when its word was 2, as most mutexes have it.",
    };
    std::vector<line> lines;
    for (const char *each : text)
        lines.push_back(cut(each, std::string_view(each).starts_with(" ") ? style::plain : style::title, size.columns));
    lines.resize(std::min(lines.size(), size.lines));
    return lines;
}

} // namespace holdfast::cli::top
