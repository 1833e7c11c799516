// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/client/statistics_reader.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/descriptor_passing.h"

namespace holdfast {
namespace {

constexpr std::size_t memories_max = 16; // of a process; a monitor keeps fewer

double to_ns(std::uint64_t ticks) {
    return static_cast<double>(ticks) * hf_tick_ns();
}

// Objects of type T as they lie in the memory from there on; zeros where nothing was written.
template <typename T>
std::vector<T> copy_of(const descriptor &memory, std::size_t offset, std::size_t count) {
    std::vector<T> copy(count);
    char *into = reinterpret_cast<char *>(copy.data());
    std::size_t wanted = count * sizeof(T);
    for (std::size_t done = 0; done < wanted;) {
        ssize_t got = pread(memory.get(), into + done, wanted - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    std::atomic_thread_fence(std::memory_order_acquire); // what is copied next is newer
    return copy;
}

hf_statistics_header header_of(const descriptor &memory) {
    return copy_of<hf_statistics_header>(memory, 0, 1).front();
}

// Those of all slabs that the process says it has mapped, or could have.
std::vector<hf_thread_counters> counters_of(const descriptor &memory, const hf_statistics_header &header) {
    std::size_t slabs = std::min<std::size_t>(header.counters.slabs, HF_SHARED_SLABS);
    return copy_of<hf_thread_counters>(memory, HF_STATISTICS_THREADS_OFFSET, slabs * HF_SLAB_RECORDS);
}

thread_sums sum_of(const std::vector<hf_thread_counters> &threads, const hf_statistics_header &header) {
    thread_sums sum;
    // At most 1: the process may have written anything.
    sum.bound_apart = header.bound_apart != 0;
    sum.met_no_monitor = header.monitor == HF_MONITOR_NOT_MET || header.monitor == HF_MONITOR_MET_LATER;
    sum.met_it_later = header.monitor == HF_MONITOR_MET_LATER;
    sum.short_of_memory = header.levels == 0 || header.refused != 0 || header.counters.refused != 0;
    std::ranges::copy(header.steps, sum.steps.begin());
    for (const hf_thread_counters &thread : threads) {
        sum.acquisitions += thread.acquisitions;
        sum.contended += thread.contended;
        sum.spun += thread.spun;
        sum.blocked += thread.blocked;
        sum.mode_switches += thread.mode_switches;
    }
    return sum;
}

std::vector<rule_matches> rules_in(const hf_statistics_header &header) {
    std::vector<rule_matches> found;
    for (const hf_rule_statistics &each : header.rules) {
        std::array<char, HF_STATISTICS_RULE_BYTES> name{};
        std::memcpy(name.data(), each.name, name.size() - 1);
        if (name.front())
            found.push_back({.name = name.data(), .matched = each.matched});
    }
    return found;
}

lock_snapshot snapshot_of(std::uint64_t address, const hf_lock_statistics &entry) {
    lock_snapshot lock;
    lock.address = address;
    lock.kind = static_cast<hf_statistics_kind>(entry.kind);
    lock.uncontended = entry.uncontended;
    lock.slept = entry.slept;
    lock.contended = entry.spun + lock.slept;
    lock.gave_up = entry.gave_up;
    lock.sleeps = entry.sleeps;
    lock.waited_ns = to_ns(entry.wait_ticks);
    lock.asleep_ns = to_ns(entry.asleep_ticks);
    lock.held_ns = to_ns(entry.hold_ticks);
    double spread_unit_ticks = 1u << hf_spread_shift();
    double spread_unit_ns = spread_unit_ticks * hf_tick_ns();
    lock.held_variance_ns2 = static_cast<double>(entry.hold_spread) * spread_unit_ns * spread_unit_ns;
    lock.longest_wait_ns = to_ns(entry.longest_wait_ticks);
    lock.longest_hold_ns = to_ns(entry.longest_hold_ticks);
    lock.longest_holder = entry.longest_holder;
    lock.creation_site = entry.creation_site;
    std::ranges::copy(entry.wait_histogram, lock.waits.begin());
    std::ranges::copy(entry.hold_histogram, lock.holds.begin());
    return lock;
}

void add_locks_of_level(const descriptor &memory, std::uint32_t level, std::vector<lock_snapshot> &found) {
    std::size_t at = hf_statistics_level_at(level);
    auto names = copy_of<std::uint64_t>(memory, at, hf_statistics_places(level));
    for (std::size_t place = 0; place < names.size(); place++) {
        if (names[place] == 0)
            continue;
        std::size_t entry = at + hf_statistics_entries_at(level) + place * sizeof(hf_lock_statistics);
        found.push_back(snapshot_of(names[place], copy_of<hf_lock_statistics>(memory, entry, 1).front()));
    }
}

// Three copies, each begun when the one before was done: what is the same in the first and the last was so when the
// second one was made (notes.N4, N5 in observe/thread_holds.h).
void add_holds_of_level(const descriptor &memory, std::uint32_t level, std::vector<thread_hold> &found) {
    std::size_t at = hf_statistics_level_at(level) + hf_statistics_holds_at(level);
    auto look = [&] { return copy_of<hf_thread_holds>(memory, at, hf_statistics_places(level)); };
    auto before = look(), between = look(), after = look();
    for (std::size_t row = 0; row < between.size(); row++) {
        std::uint32_t tid = before[row].tid;
        if (tid == HF_ROW_FREE || tid == HF_ROW_BEING_CLEARED || after[row].tid != tid)
            continue;
        for (std::size_t i = 0; i < HF_STATISTICS_HOLDS; i++) {
            std::uint64_t lock = before[row].holds[i].lock;
            if (lock != 0 && after[row].holds[i].lock == lock)
                found.push_back({.thread = tid,
                                 .lock = lock,
                                 .held_ns = to_ns(between[row].holds[i].ticks),
                                 .counted = (between[row].counted >> i & 1) != 0});
        }
    }
}

// What a thread has not yet added to the entry of a lock.
struct kept_by_threads {
    std::uint64_t slept = 0;
    std::uint64_t waiting = 0;
    double waiting_ns = 0;
};

void add_what_threads_keep(const std::vector<hf_thread_counters> &threads, std::vector<lock_snapshot> &locks) {
    std::unordered_map<std::uint64_t, kept_by_threads> kept;
    auto now = static_cast<std::uint32_t>(hf_ticks() >> hf_waits_since_shift());
    for (const hf_thread_counters &thread : threads) {
        if (!thread.pending && !thread.waits_since)
            continue;
        kept_by_threads &of_lock = kept[thread.pending_lock];
        of_lock.slept += thread.pending;
        if (!thread.waits_since)
            continue;
        std::uint32_t waited = now - thread.waits_since; // wraps around as the clock does
        of_lock.waiting++;
        if (static_cast<std::int32_t>(waited) > 0) // the process may have written anything
            of_lock.waiting_ns += to_ns(static_cast<std::uint64_t>(waited) << hf_waits_since_shift());
    }
    for (lock_snapshot &lock : locks) {
        auto found = kept.find(lock.address);
        if (found == kept.end())
            continue;
        lock.contended += found->second.slept;
        lock.slept += found->second.slept;
        lock.waiting_now = found->second.waiting;
        lock.waiting_ns = found->second.waiting_ns;
    }
}

std::string why_not(const std::string &socket_name, std::uint32_t status) {
    switch (status) {
    case HF_REPLY_ABSENT: return "the process has ended, has no statistics there, or is another user's";
    case HF_REPLY_STRANGER: return "what listens on " + socket_name + " does not serve this user";
    case HF_REPLY_OVER_LIMIT: return "what listens on " + socket_name + " is busy with this user's requests: try again";
    case HF_REPLY_OTHER_VERSION:
        return "what listens on " + socket_name + " is of another version of Holdfast: restart it after an upgrade";
    default: return "what listens on " + socket_name + " could not answer: try again";
    }
}

// Asks and receives an answer of type T, which begins with a hf_reply; a refusal may be that alone. Empty: good.
template <typename T>
std::string ask(const std::string &socket_name, const hf_request &request, T &reply, int *brought) {
    *brought = -1;
    descriptor connection(hf_connect(socket_name.c_str(), HF_COMMAND_PATIENCE_MS));
    if (!connection)
        return "nobody answers on " + socket_name + ": " + std::strerror(errno);
    if (!hf_send_message(connection.get(), &request, sizeof(request), -1) ||
        (!hf_receive_message(connection.get(), &reply, sizeof(reply), brought) && errno != EPROTO))
        return why_not(socket_name, HF_REPLY_FAILED);
    hf_reply head{};
    std::memcpy(&head, &reply, sizeof(head));
    if (head.version != HF_REGISTRATION_VERSION)
        return why_not(socket_name, HF_REPLY_OTHER_VERSION);
    return head.status == HF_REPLY_DONE ? "" : why_not(socket_name, head.status);
}

hf_request request_for(hf_request_kind kind, pid_t process, std::size_t index) {
    hf_request request{};
    request.version = HF_REGISTRATION_VERSION;
    request.kind = kind;
    request.process = static_cast<std::uint32_t>(process);
    request.index = static_cast<std::uint32_t>(index);
    return request;
}

} // namespace

double bucket_from_ns(std::size_t bucket) {
    return to_ns(hf_histogram_from_ticks(static_cast<std::uint32_t>(bucket)));
}

std::optional<statistics_reader> statistics_reader::of(int fd) {
    struct stat file {};
    if (fstat(fd, &file) != 0 || file.st_size != static_cast<off_t>(HF_STATISTICS_BYTES))
        return std::nullopt;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return std::nullopt;
    descriptor own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own || header_of(own).version != HF_STATISTICS_VERSION)
        return std::nullopt;
    return statistics_reader(std::move(own));
}

thread_sums statistics_reader::read_threads() const {
    hf_statistics_header header = header_of(memory_);
    return sum_of(counters_of(memory_, header), header);
}

std::vector<rule_matches> statistics_reader::read_rules() const {
    return rules_in(header_of(memory_));
}

process_snapshot statistics_reader::read() const {
    process_snapshot process;
    hf_statistics_header header = header_of(memory_);
    process.process = static_cast<pid_t>(header.process);
    process.not_noted = header.not_noted;
    process.rules = rules_in(header);
    auto threads = counters_of(memory_, header);
    process.threads = sum_of(threads, header);
    std::uint32_t levels = std::min<std::uint32_t>(header.levels, HF_STATISTICS_LEVELS);
    for (std::uint32_t level = 0; level < levels; level++) {
        add_locks_of_level(memory_, level, process.locks);
        add_holds_of_level(memory_, level, process.holds);
    }
    add_what_threads_keep(threads, process.locks);
    return process;
}

statistics_answer<std::vector<pid_t>> observed_processes(const std::string &socket_name) {
    std::vector<pid_t> all;
    for (;;) {
        hf_observed_processes reply{};
        int brought = -1;
        std::string refusal =
            ask(socket_name, request_for(HF_REQUEST_PROCESSES, all.empty() ? 0 : all.back(), 0), reply, &brought);
        descriptor dropped(brought);
        if (!refusal.empty())
            return {.value = std::nullopt, .why_not = refusal};
        std::size_t count = std::min<std::size_t>(reply.count, HF_PROCESSES_A_REPLY);
        pid_t before = all.empty() ? 0 : all.back();
        for (std::size_t i = 0; i < count; i++)
            all.push_back(static_cast<pid_t>(reply.process[i]));
        if (count < HF_PROCESSES_A_REPLY || all.back() <= before)
            return {.value = std::move(all), .why_not = ""};
    }
}

statistics_answer<std::vector<statistics_reader>> open_statistics(const std::string &socket_name, pid_t process) {
    std::vector<statistics_reader> all;
    while (all.size() < memories_max) {
        hf_reply reply{};
        int brought = -1;
        std::string refusal =
            ask(socket_name, request_for(HF_REQUEST_STATISTICS, process, all.size()), reply, &brought);
        descriptor memory(brought);
        if (!refusal.empty() && (all.empty() || reply.status != HF_REPLY_ABSENT))
            return {.value = std::nullopt, .why_not = refusal};
        std::optional<statistics_reader> reader = refusal.empty() ? statistics_reader::of(memory.get()) : std::nullopt;
        if (!reader)
            break;
        all.push_back(std::move(*reader));
    }
    if (all.empty())
        return {.value = std::nullopt, .why_not = why_not(socket_name, HF_REPLY_OTHER_VERSION)};
    return {.value = std::move(all), .why_not = ""};
}

statistics_answer<hf_process_absences> read_absences(const std::string &socket_name, pid_t process) {
    statistics_answer<hf_process_absences> answer{.value = hf_process_absences{}, .why_not = ""};
    int brought = -1;
    answer.why_not = ask(socket_name, request_for(HF_REQUEST_ABSENCES, process, 0), *answer.value, &brought);
    descriptor dropped(brought);
    if (!answer.why_not.empty())
        answer.value.reset();
    else
        answer.value->count = std::min<std::uint64_t>(answer.value->count, HF_ABSENCES_A_REPLY);
    return answer;
}

} // namespace holdfast
