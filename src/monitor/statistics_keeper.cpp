// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/statistics_keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <ranges>
#include <set>
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
constexpr std::ptrdiff_t memories_of_a_process_max = 4;

descriptor new_memory(pid_t process) {
    descriptor memory(memfd_create("holdfast-statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
    if (!memory && errno == EINVAL)
        memory = descriptor(memfd_create("holdfast-statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    hf_statistics_header header{};
    header.version = HF_STATISTICS_VERSION;
    header.process = static_cast<std::uint32_t>(process);
    // Its size is settled: who maps it need not fear that it shrinks. Its mode keeps those who get it to read from
    // opening it anew to write.
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

int statistics_keeper::make_for(peer owner, std::uint32_t program) {
    close_ended();
    auto of_owner = [&](const kept_memory &each) { return each.owner.pid == owner.pid; };
    // What it ran before it called exec is over.
    fold([&](const kept_memory &each) { return of_owner(each) && each.program != program; });
    auto more = std::ranges::count_if(kept_, of_owner) + 1;
    fold([&](const kept_memory &each) { return of_owner(each) && more-- > memories_of_a_process_max; });
    descriptor memory = new_memory(owner.pid);
    if (!memory || !leaves_enough(memory))
        return -1;
    kept_.push_back({.memory = std::move(memory), .owner = std::move(owner), .program = program});
    return kept_.back().memory.get();
}

bool statistics_keeper::may_read(const peer &reader, const kept_memory &kept) {
    return reader.uid == 0 || (reader.uid == kept.owner.uid && kept.owner.is_still_itself());
}

std::vector<pid_t> statistics_keeper::readable_by(const peer &reader, pid_t after) const {
    std::set<pid_t> readable;
    for (const auto &each : kept_)
        if (each.owner.pid > after && !each.owner.has_ended() && may_read(reader, each))
            readable.insert(each.owner.pid);
    return {readable.begin(), readable.end()};
}

descriptor statistics_keeper::open_for(const peer &reader, pid_t process, std::size_t index) const {
    for (const auto &each : std::views::reverse(kept_)) {
        if (each.owner.pid != process || each.owner.has_ended() || index-- > 0)
            continue;
        if (!may_read(reader, each))
            return descriptor();
        return descriptor(open(("/proc/self/fd/" + std::to_string(each.memory.get())).c_str(), O_RDONLY | O_CLOEXEC));
    }
    return descriptor();
}

void statistics_keeper::close_ended() {
    fold([](const kept_memory &each) { return each.owner.has_ended(); });
}

std::size_t statistics_keeper::kept_for(uid_t user) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(kept_, [user](const kept_memory &each) { return each.owner.uid == user; }));
}

// Those that will not change any more are added up, and let go.
void statistics_keeper::fold(const std::function<bool(const kept_memory &)> &is_final) {
    std::erase_if(kept_, [&](const kept_memory &each) {
        bool final = is_final(each);
        if (final) {
            add(of_ended_, sums_in(each.memory));
            add_rules_in(each.memory, rules_of_ended_);
        }
        return final;
    });
}

thread_sums statistics_keeper::sum() const {
    thread_sums sum = of_ended_;
    for (const auto &each : kept_)
        add(sum, sums_in(each.memory));
    return sum;
}

void statistics_keeper::watch_rules(const std::vector<std::string> &names) {
    for (const std::string &each : names)
        rules_of_ended_.emplace(each, 0);
}

statistics_keeper::rule_sums statistics_keeper::sum_of_rules() const {
    rule_sums sum = rules_of_ended_;
    for (const auto &each : kept_)
        add_rules_in(each.memory, sum);
    return sum;
}

} // namespace holdfast
