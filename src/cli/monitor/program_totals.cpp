// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/program_totals.hpp"

#include <algorithm>

#include "cli/symbols/process_stat.hpp"

namespace holdfast::cli {
namespace {

constexpr const char *all_others = "all other programs"; // longer than the kernel lets a program's name be

void add(const program_total &more, program_total &sum) {
    for (auto part :
         {&program_total::acquisitions, &program_total::contended, &program_total::sleeps, &program_total::waited_s})
        sum.*part += more.*part;
}

program_total total_of(const std::string &program, const std::vector<statistics_reader> &readers) {
    program_total sum{.program = program, .processes = 1};
    for (const statistics_reader &reader : readers) {
        process_snapshot now = reader.read();
        sum.acquisitions += static_cast<double>(now.threads.acquisitions);
        sum.contended += static_cast<double>(now.threads.contended);
        sum.sleeps += static_cast<double>(now.threads.blocked);
        for (const lock_snapshot &lock : now.locks) {
            sum.waited_s += (lock.waited_ns + lock.waiting_ns) / 1e9;
            sum.waiting_now += static_cast<double>(lock.waiting_now);
        }
    }
    return sum;
}

} // namespace

// After an exec a process has other memory, and what was opened before stands still.
void program_totals::read(pid_t pid) {
    std::optional<process_stat> about = process_stat_of(pid);
    if (!about)
        return;
    auto [place, is_new] = processes_.try_emplace({pid, about->started_ticks});
    process &of = place->second;
    of.is_there = true;
    program_total now = total_of(about->name, of.readers);
    if (is_new || of.last.program != about->name || now.acquisitions == of.last.acquisitions) {
        auto opened = open_statistics(socket_, pid);
        if (opened.value)
            of.readers = std::move(*opened.value);
        now = total_of(about->name, of.readers);
    }
    if (of.last.program != now.program || now.acquisitions < of.last.acquisitions) {
        keep(of.last);
        of.last = {};
    }
    now.waited_s = std::max(now.waited_s, of.last.waited_s); // a sum of estimates: it may seem to fall a little
    of.last = now;
}

// Names are bounded, and what has one keeps it, or the sums would fall.
std::optional<std::string> program_totals::told_as(const program_total &of) {
    if (ended_.contains(of.program))
        return of.program;
    if (of.contended == 0)
        return std::nullopt;
    std::string name = ended_.size() < programs_max_ ? of.program : all_others;
    ended_[name].program = name;
    return name;
}

void program_totals::keep(const program_total &of_ended) {
    if (std::optional<std::string> name = told_as(of_ended))
        add(of_ended, ended_[*name]);
}

std::vector<program_total> program_totals::look() {
    std::lock_guard guard(one_at_a_time_);
    // A service that does not answer now is no reason to take its processes for ended.
    if (auto observed = observed_processes(socket_); observed.value) {
        for (auto &[id, each] : processes_)
            each.is_there = false;
        for (pid_t pid : *observed.value)
            read(pid);
        std::erase_if(processes_, [this](const auto &each) {
            if (!each.second.is_there)
                keep(each.second.last);
            return !each.second.is_there;
        });
    }
    for (const auto &[id, each] : processes_)
        told_as(each.last);
    std::map<std::string, program_total> sums = ended_;
    for (const auto &[id, each] : processes_) {
        std::optional<std::string> name = told_as(each.last);
        if (!name)
            continue;
        program_total &sum = sums[*name];
        add(each.last, sum);
        sum.processes += each.last.processes;
        sum.waiting_now += each.last.waiting_now;
    }
    std::vector<program_total> found;
    for (auto &[name, sum] : sums)
        found.push_back(std::move(sum));
    return found;
}

} // namespace holdfast::cli
