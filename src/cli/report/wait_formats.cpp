// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/wait_formats.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast::cli::report {
namespace {

using json = nlohmann::ordered_json;

std::string dumped(const json &made) {
    return made.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

double us(std::uint64_t ns) {
    return static_cast<double>(ns) / 1000;
}

// --- trace

class trace {
public:
    trace(const recording &of, const waited_things &things) : of_(of), things_(things) {
        for (const lock_wait &each : of.waits())
            begin_ns_ = std::min(begin_ns_, each.begun_ns);
    }

    json events() {
        name_threads();
        for (const lock_wait &each : of_.waits())
            add(each);
        for (const holder_preemption &each : of_.preemptions())
            add(each);
        count_waiters();
        return std::move(events_);
    }

private:
    double at(std::uint64_t ns) const { return us(ns - std::min(ns, begin_ns_)); }

    void name_threads() {
        std::map<std::pair<pid_t, std::uint32_t>, std::string> names;
        for (const lock_wait &each : of_.waits()) {
            for (std::uint32_t thread : {each.waiter, each.releaser}) {
                if (thread != 0)
                    names.try_emplace({each.process.pid, thread}, of_.thread_name(each.process, thread));
            }
        }
        for (const holder_preemption &each : of_.preemptions())
            names.try_emplace({each.process.pid, each.thread}, of_.thread_name(each.process, each.thread));
        for (const watched_process &each : of_.processes())
            events_.push_back({{"ph", "M"},
                               {"name", "process_name"},
                               {"pid", each.pid},
                               {"args", {{"name", of_.process_name(each)}}}});
        for (const auto &[key, name] : names)
            events_.push_back({{"ph", "M"},
                               {"name", "thread_name"},
                               {"pid", key.first},
                               {"tid", key.second},
                               {"args", {{"name", name}}}});
    }

    static std::string place(const call_chain &chain) {
        const call_frame *frame = place_in_program(chain);
        return frame ? text_of(*frame) : "not known";
    }

    void add(const lock_wait &wait) {
        const auto &[lock, is_held, is_lock] = things_.of(wait);
        json arguments = {{"lock", lock},
                          {"waits in", callers_in_words(of_.chain(wait.waits_at), 8)},
                          {"line", place(of_.chain(wait.waits_at))}};
        if (wait.weight > 1)
            arguments["stands for"] = wait.weight;
        if (wait.releaser != 0) {
            arguments[is_held ? "held by" : "woken by"] =
                fmt::format("{} ({})", of_.thread_name(wait.process, wait.releaser), wait.releaser);
            arguments["released in"] =
                place(of_.chain(wait.held_by.empty() ? no_chain : wait.held_by.back().released_at));
        }
        events_.push_back({{"ph", "X"},
                           {"cat", is_lock ? "lock" : "other"},
                           {"name", "waits for " + lock},
                           {"pid", wait.process.pid},
                           {"tid", wait.waiter},
                           {"ts", at(wait.begun_ns)},
                           {"dur", us(wait.took_ns())},
                           {"args", std::move(arguments)}});
        auto &edges = waiters_[{wait.process.pid, lock}];
        edges[wait.begun_ns] += wait.weight;
        edges[wait.ended_ns] -= wait.weight;
        if (wait.releaser != 0)
            add_release(wait, lock, is_held);
    }

    void add(const holder_preemption &of) {
        events_.push_back({{"ph", "X"},
                           {"cat", "preempted"},
                           {"name", "preempted, holds " + things_.name_of({of.process, of.address})},
                           {"pid", of.process.pid},
                           {"tid", of.thread},
                           {"ts", at(of.begun_ns)},
                           {"dur", us(of.ended_ns - of.begun_ns)},
                           {"args", json::object()}});
    }

    // An arrow needs a slice at its tail.
    void add_release(const lock_wait &wait, const std::string &lock, bool is_held) {
        json begin = {{"ph", "X"},
                      {"cat", "release"},
                      {"name", (is_held ? "releases " : "wakes at ") + lock},
                      {"pid", wait.process.pid},
                      {"tid", wait.releaser},
                      {"ts", at(wait.released_ns)},
                      {"dur", 1},
                      {"args", json::object()}};
        if (!wait.held_by.empty())
            begin["args"]["in"] = callers_in_words(of_.chain(wait.held_by.back().released_at), 8);
        events_.push_back(std::move(begin));
        for (const char *end : {"s", "f"}) {
            bool is_tail = *end == 's';
            json arrow = {{"ph", end},
                          {"cat", "release"},
                          {"name", "wakes"},
                          {"id", arrows_},
                          {"pid", wait.process.pid},
                          {"tid", is_tail ? wait.releaser : wait.waiter},
                          {"ts", at(is_tail ? wait.released_ns : std::max(wait.begun_ns, wait.ended_ns - 1))}};
            if (!is_tail)
                arrow["bp"] = "e"; // it ends in the slice around it, not at the next one
            events_.push_back(std::move(arrow));
        }
        arrows_++;
    }

    void count_waiters() {
        for (const auto &[key, edges] : waiters_) {
            std::int64_t now = 0;
            for (const auto &[ns, change] : edges) {
                now += change;
                events_.push_back({{"ph", "C"},
                                   {"name", "waiters: " + key.second},
                                   {"pid", key.first},
                                   {"ts", at(ns)},
                                   {"args", {{"threads", now}}}});
            }
        }
    }

    const recording &of_;
    const waited_things &things_;
    std::map<std::pair<pid_t, std::string>, std::map<std::uint64_t, std::int64_t>> waiters_; // by what they wait for
    std::uint64_t begin_ns_ = UINT64_MAX, arrows_ = 1;
    json events_ = json::array();
};

// --- pprof: protocol buffers by hand, of which it takes two kinds of fields

class message {
public:
    void add(unsigned field, std::uint64_t value) {
        put(std::uint64_t{field} << 3);
        put(value);
    }
    void add(unsigned field, const std::string &bytes) {
        put(std::uint64_t{field} << 3 | 2);
        put(bytes.size());
        bytes_ += bytes;
    }
    const std::string &bytes() const { return bytes_; }

private:
    void put(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

class text_table {
public:
    std::uint64_t number_of(const std::string &text) {
        auto [place, is_new] = numbers_.try_emplace(text, texts_.size());
        if (is_new)
            texts_.push_back(text);
        return place->second;
    }
    const std::vector<std::string> &texts() const { return texts_; }

private:
    std::vector<std::string> texts_ = {""};
    std::map<std::string, std::uint64_t> numbers_ = {{"", 0}};
};

std::string value_type(text_table &texts, const char *what, const char *unit) {
    message type;
    type.add(1, texts.number_of(what));
    type.add(2, texts.number_of(unit));
    return type.bytes();
}

} // namespace

std::string perfetto_trace(const recording &of, const waited_things &things) {
    return dumped({{"displayTimeUnit", "ns"}, {"traceEvents", trace(of, things).events()}});
}

std::string speedscope_profile(const std::vector<waiting_stack> &stacks, const std::string &title) {
    json frames = json::array(), samples = json::array(), weights = json::array();
    std::map<std::string, std::size_t> known;
    std::uint64_t all_ns = 0;
    for (const waiting_stack &stack : stacks) {
        json sample = json::array();
        for (const stack_level &each : stack.levels) {
            auto [place, is_new] = known.try_emplace(each.text, frames.size());
            if (is_new)
                frames.push_back({{"name", each.text}});
            sample.push_back(place->second);
        }
        samples.push_back(std::move(sample));
        weights.push_back(stack.waited_ns);
        all_ns += stack.waited_ns;
    }
    json profile = {{"type", "sampled"},
                    {"name", title},
                    {"unit", "nanoseconds"},
                    {"startValue", 0},
                    {"endValue", all_ns},
                    {"samples", std::move(samples)},
                    {"weights", std::move(weights)}};
    return dumped({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                   {"exporter", "holdfast"},
                   {"name", title},
                   {"activeProfileIndex", 0},
                   {"shared", {{"frames", std::move(frames)}}},
                   {"profiles", json::array({std::move(profile)})}});
}

// profile.proto: sample_type 1, sample 2, location 4, function 5, string_table 6.
std::string pprof_profile(const std::vector<waiting_stack> &stacks) {
    text_table texts;
    message profile;
    profile.add(1, value_type(texts, "waits", "count"));
    profile.add(1, value_type(texts, "waited", "nanoseconds"));
    std::map<std::string, std::uint64_t> functions;
    for (const waiting_stack &stack : stacks) {
        message sample;
        for (auto each = stack.levels.rbegin(); each != stack.levels.rend(); ++each)
            sample.add(1, functions.try_emplace(each->text, functions.size() + 1).first->second);
        sample.add(2, stack.waits);
        sample.add(2, stack.waited_ns);
        profile.add(2, sample.bytes());
    }
    for (const auto &[name, number] : functions) {
        message line, location, function;
        line.add(1, number);
        location.add(1, number);
        location.add(4, line.bytes());
        profile.add(4, location.bytes());
        function.add(1, number);
        function.add(2, texts.number_of(name));
        profile.add(5, function.bytes());
    }
    for (const std::string &each : texts.texts())
        profile.add(6, each);
    return profile.bytes();
}

} // namespace holdfast::cli::report
