// SPDX-License-Identifier: MIT OR Apache-2.0
// Chrome's trace event format: an array of objects; here "M" (a track's name) and "X" (a slice), times in microseconds.
// Perfetto wants slices of one track to lie beside or inside each other.
#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "trace_events.hpp"

namespace holdfast::coro::trace {
namespace {

constexpr unsigned threads_group = 1, mutexes_group = 2; // "pid" there

struct section {
    const void *mutex = nullptr;
    std::uint64_t began_ns = 0, ended_ns = 0;
    std::size_t began_on = 0, ended_on = 0; // index of a thread
};

struct moment {
    std::uint64_t at_ns = 0;
    std::size_t thread = 0;
    bool begins = false;
};

class json_writer {
public:
    explicit json_writer(std::ostream &to) : to_(to) { to_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"; }
    ~json_writer() { to_ << "\n]}\n"; }
    json_writer(const json_writer &) = delete;
    json_writer &operator=(const json_writer &) = delete;

    // `name` has no character that JSON would want escaped.
    void track(const char *what, unsigned group, std::size_t track, const std::string &name) {
        next() << "{\"ph\":\"M\",\"name\":\"" << what << "\",\"pid\":" << group << ",\"tid\":" << track
               << ",\"args\":{\"name\":\"" << name << "\"}}";
    }
    void slice(unsigned group, std::size_t track, const std::string &name, std::uint64_t from_ns,
               std::uint64_t until_ns) {
        next() << "{\"ph\":\"X\",\"name\":\"" << name << "\",\"pid\":" << group << ",\"tid\":" << track
               << ",\"ts\":" << us(from_ns) << ",\"dur\":" << us(until_ns - from_ns) << "}";
    }

private:
    std::ostream &next() { return to_ << (std::exchange(first_, false) ? "" : ",\n"); }
    // Exact, which a double would not be.
    static std::string us(std::uint64_t ns) {
        std::string fraction = std::to_string(ns % 1000);
        return std::to_string(ns / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
    }

    std::ostream &to_;
    bool first_ = true;
};

// Addresses, by the order in which they are asked for.
class numbering {
public:
    std::size_t of(const void *address) { return numbers_.try_emplace(address, numbers_.size()).first->second; }

private:
    std::map<const void *, std::size_t> numbers_;
};

// A mutex's sections begin and end in turn. What has lost its other half, at the trace's begin or end, is left out.
std::vector<section> pair_up(const void *mutex, std::vector<moment> &moments) {
    std::stable_sort(moments.begin(), moments.end(), [](const auto &a, const auto &b) { return a.at_ns < b.at_ns; });
    std::vector<section> paired;
    for (std::size_t i = 0; i + 1 < moments.size(); i++)
        if (moments[i].begins && !moments[i + 1].begins)
            paired.push_back({mutex, moments[i].at_ns, moments[i + 1].at_ns, moments[i].thread, moments[i + 1].thread});
    return paired;
}

std::vector<section> sections_of(const all_events &threads) {
    std::map<const void *, std::vector<moment>> by_mutex;
    for (std::size_t thread = 0; thread < threads.size(); thread++)
        for (std::size_t i = 0; i < threads[thread]->size(); i++)
            if (const event &one = (*threads[thread])[i]; one.kind != event_kind::ran)
                by_mutex[one.what].push_back({one.at_ns, thread, one.kind == event_kind::section_begin});
    std::vector<section> all;
    for (auto &[mutex, moments] : by_mutex)
        for (const section &one : pair_up(mutex, moments))
            all.push_back(one);
    return all;
}

// The times at which coroutines ran on a thread, in their order: the next one begins after the one before has ended.
std::vector<event> runs_of(const thread_events &thread) {
    std::vector<event> runs;
    for (std::size_t i = 0; i < thread.size(); i++)
        if (thread[i].kind == event_kind::ran)
            runs.push_back(thread[i]);
    std::sort(runs.begin(), runs.end(), [](const auto &a, const auto &b) { return a.at_ns < b.at_ns; });
    return runs;
}

bool lies_in_one(const std::vector<event> &runs, const section &one) {
    auto after = std::upper_bound(runs.begin(), runs.end(), one.began_ns,
                                  [](std::uint64_t at_ns, const event &run) { return at_ns < run.at_ns; });
    return after != runs.begin() && one.ended_ns <= std::prev(after)->until_ns;
}

void write_threads(json_writer &to, const all_events &threads, const std::vector<section> &sections,
                   numbering &mutexes) {
    to.track("process_name", threads_group, 0, "threads");
    numbering coroutines;
    for (std::size_t thread = 0; thread < threads.size(); thread++) {
        std::string name = threads[thread]->thread();
        if (std::uint64_t left_out = threads[thread]->left_out())
            name += " (" + std::to_string(left_out) + " events left out)";
        to.track("thread_name", threads_group, thread, name);
        std::vector<event> runs = runs_of(*threads[thread]);
        for (const event &run : runs)
            to.slice(threads_group, thread, "coroutine " + std::to_string(coroutines.of(run.what)), run.at_ns,
                     run.until_ns);
        for (const section &one : sections)
            if (one.began_on == thread && one.ended_on == thread && lies_in_one(runs, one))
                to.slice(threads_group, thread, "mutex " + std::to_string(mutexes.of(one.mutex)), one.began_ns,
                         one.ended_ns);
    }
}

void write_mutexes(json_writer &to, const all_events &threads, const std::vector<section> &sections,
                   numbering &mutexes) {
    to.track("process_name", mutexes_group, 0, "mutexes");
    const void *before = nullptr;
    for (const section &one : sections) {
        std::size_t track = mutexes.of(one.mutex);
        if (std::exchange(before, one.mutex) != one.mutex)
            to.track("thread_name", mutexes_group, track, "mutex " + std::to_string(track));
        std::string name = threads[one.began_on]->thread();
        if (one.ended_on != one.began_on)
            name += " to " + threads[one.ended_on]->thread();
        to.slice(mutexes_group, track, name, one.began_ns, one.ended_ns);
    }
}

} // namespace

void write_json(std::ostream &to, const all_events &threads) {
    json_writer json(to);
    numbering mutexes;
    std::vector<section> sections = sections_of(threads);
    write_threads(json, threads, sections, mutexes);
    write_mutexes(json, threads, sections, mutexes);
}

} // namespace holdfast::coro::trace
