// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/statistics_keeper.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U // Linux 6.3
#endif

namespace holdfast {
namespace {

// One for each library with locks.
constexpr std::size_t memories_of_a_process_max = 4;

descriptor new_memory(pid_t process) {
    descriptor memory(memfd_create("holdfast-statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
    if (!memory && errno == EINVAL)
        memory = descriptor(memfd_create("holdfast-statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    hf_statistics_header header{};
    header.version = HF_STATISTICS_VERSION;
    header.process = static_cast<std::uint32_t>(process);
    // Its size is settled: a process that maps it need not fear that it shrinks. Its mode keeps those who get it to
    // read from opening it anew to write.
    bool made = memory && ftruncate(memory.get(), HF_STATISTICS_BYTES) == 0 &&
                pwrite(memory.get(), &header, sizeof(header), 0) == sizeof(header) &&
                fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                fchmod(memory.get(), S_IRUSR | S_IWUSR) == 0;
    return made ? std::move(memory) : descriptor();
}

// Registering is more important: what is left of the descriptors is for that.
bool leaves_enough(const descriptor &newest) {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(newest.get()) < limit.rlim_cur / 4 * 3;
}

void add(thread_sums &sum, const thread_sums &more) {
    sum.acquisitions += more.acquisitions;
    sum.contended += more.contended;
    sum.spun += more.spun;
    sum.blocked += more.blocked;
    sum.mode_switches += more.mode_switches;
    for (std::size_t step = 0; step < sum.steps.size(); step++)
        sum.steps[step] += more.steps[step];
    sum.bound_apart += more.bound_apart;
    sum.met_no_monitor += more.met_no_monitor;
    sum.met_it_later += more.met_it_later;
    sum.short_of_memory += more.short_of_memory;
}

void add_rules_in(const descriptor &memory, statistics_keeper::rule_sums &watched) {
    auto reader = watched.empty() ? std::nullopt : statistics_reader::of(memory.get());
    for (const rule_matches &each : reader ? reader->read_rules() : std::vector<rule_matches>()) {
        if (auto known = watched.find(each.name); known != watched.end())
            known->second += each.matched;
    }
}

thread_sums sums_in(const descriptor &memory) {
    auto reader = statistics_reader::of(memory.get());
    return reader ? reader->read_threads() : thread_sums{};
}

} // namespace

int statistics_keeper::make_for(peer process, std::uint32_t program) {
    close_ended();
    descriptor memory = new_memory(process.pid);
    if (!memory || !leaves_enough(memory)) {
        of_ended_.short_of_memory++;
        return -1;
    }
    owner *whose = owner_for(std::move(process));
    if (!whose)
        return -1;
    // What it ran before it called exec is over.
    if (!whose->kept.empty() && whose->kept.back().program != program)
        fold(*whose, whose->kept.size());
    else if (whose->kept.size() >= memories_of_a_process_max)
        fold(*whose, whose->kept.size() - memories_of_a_process_max + 1);
    whose->kept.push_back({.memory = std::move(memory), .program = program});
    kept_of_user_[whose->process.uid]++;
    return whose->kept.back().memory.get();
}

// Of a process that has another user by now nothing is left but the sum.
statistics_keeper::owner *statistics_keeper::owner_for(peer &&process) {
    auto known = owners_.find(process.pid);
    if (known != owners_.end() && known->second.process.uid != process.uid) {
        forget(known);
        known = owners_.end();
    }
    if (known != owners_.end())
        return &known->second;
    pid_t pid = process.pid;
    if (!ends_.add(process, static_cast<std::uint32_t>(pid)))
        return nullptr;
    of_user_[process.uid].insert(pid);
    return &owners_.insert_or_assign(pid, owner{.process = std::move(process), .kept = {}}).first->second;
}

bool statistics_keeper::may_read(const peer &reader, const peer &owner) {
    return reader.uid == 0 || (reader.uid == owner.uid && owner.is_still_itself());
}

std::vector<pid_t> statistics_keeper::readable_by(const peer &reader, pid_t after, std::size_t max) {
    close_ended();
    std::vector<pid_t> readable;
    if (reader.uid == 0) {
        for (auto each = owners_.upper_bound(after); each != owners_.end() && readable.size() < max; ++each)
            readable.push_back(each->first);
        return readable;
    }
    auto own = of_user_.find(reader.uid);
    if (own == of_user_.end())
        return readable;
    for (auto each = own->second.upper_bound(after); each != own->second.end() && readable.size() < max; ++each)
        if (may_read(reader, owners_.at(*each).process))
            readable.push_back(*each);
    return readable;
}

descriptor statistics_keeper::open_for(const peer &reader, pid_t process, std::size_t index) {
    close_ended();
    auto found = owners_.find(process);
    if (found == owners_.end() || index >= found->second.kept.size() || !may_read(reader, found->second.process))
        return descriptor();
    const kept_memory &wanted = found->second.kept[found->second.kept.size() - 1 - index];
    return descriptor(open(("/proc/self/fd/" + std::to_string(wanted.memory.get())).c_str(), O_RDONLY | O_CLOEXEC));
}

void statistics_keeper::close_ended() {
    ends_.for_each_ended([this](std::uint32_t pid) {
        if (auto ended = owners_.find(static_cast<pid_t>(pid)); ended != owners_.end())
            forget(ended);
    });
}

std::size_t statistics_keeper::kept_for(uid_t user) const {
    auto found = kept_of_user_.find(user);
    return found == kept_of_user_.end() ? 0 : found->second;
}

// The oldest so many, which will not change any more, are added up and let go.
void statistics_keeper::fold(owner &whose, std::size_t count) {
    auto end = whose.kept.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto each = whose.kept.begin(); each != end; ++each) {
        add(of_ended_, sums_in(each->memory));
        add_rules_in(each->memory, rules_of_ended_);
    }
    whose.kept.erase(whose.kept.begin(), end);
    if ((kept_of_user_[whose.process.uid] -= count) == 0)
        kept_of_user_.erase(whose.process.uid);
}

void statistics_keeper::forget(owner_map::iterator whose) {
    fold(whose->second, whose->second.kept.size());
    auto own = of_user_.find(whose->second.process.uid);
    own->second.erase(whose->first);
    if (own->second.empty())
        of_user_.erase(own);
    owners_.erase(whose);
}

thread_sums statistics_keeper::sum() const {
    thread_sums sum = of_ended_;
    for (const auto &[pid, whose] : owners_)
        for (const kept_memory &each : whose.kept)
            add(sum, sums_in(each.memory));
    return sum;
}

void statistics_keeper::watch_rules(const std::vector<std::string> &names) {
    for (const std::string &each : names)
        rules_of_ended_.emplace(each, 0);
}

statistics_keeper::rule_sums statistics_keeper::sum_of_rules() const {
    rule_sums sum = rules_of_ended_;
    for (const auto &[pid, whose] : owners_)
        for (const kept_memory &each : whose.kept)
            add_rules_in(each.memory, sum);
    return sum;
}

} // namespace holdfast
