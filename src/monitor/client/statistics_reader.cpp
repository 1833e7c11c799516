// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/client/statistics_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.hpp"
#include "base/descriptor_passing.h"

namespace holdfast {
namespace {

constexpr std::size_t memories_max = 16; // of a process; a monitor keeps fewer

double to_ns(std::uint64_t ticks) {
    return static_cast<double>(ticks) * hf_tick_ns();
}

// Calls `look` for each thread's counters. Slabs are filled in order and each from its start, so a slab that counts
// nothing ends the walk.
template <typename F>
void walk_threads(const char *memory, F look) {
    for (std::size_t slab = 0; slab < HF_SHARED_SLABS; slab++) {
        auto *counters = reinterpret_cast<const hf_thread_counters *>(memory + HF_STATISTICS_THREADS_OFFSET +
                                                                      slab * HF_SLAB_COUNTERS_BYTES);
        bool any = false;
        for (int i = 0; i < HF_SLAB_RECORDS; i++) {
            any |= hf_load_relaxed(&counters[i].next_noted) != 0;
            look(counters[i]);
        }
        if (!any)
            return;
    }
}

void copy_counts(const std::uint64_t *from, duration_counts &to) {
    for (std::size_t i = 0; i < to.size(); i++)
        to[i] = hf_load_relaxed(&from[i]);
}

lock_snapshot snapshot_of(std::uint64_t address, const hf_lock_statistics &entry) {
    lock_snapshot lock;
    lock.address = address;
    lock.kind = static_cast<hf_statistics_kind>(hf_load_relaxed(&entry.kind));
    lock.uncontended = hf_load_relaxed(&entry.uncontended);
    lock.slept = hf_load_relaxed(&entry.slept);
    lock.contended = hf_load_relaxed(&entry.spun) + lock.slept;
    lock.gave_up = hf_load_relaxed(&entry.gave_up);
    lock.sleeps = hf_load_relaxed(&entry.sleeps);
    lock.waited_ns = to_ns(hf_load_relaxed(&entry.wait_ticks));
    lock.asleep_ns = to_ns(hf_load_relaxed(&entry.asleep_ticks));
    lock.held_ns = to_ns(hf_load_relaxed(&entry.hold_ticks));
    lock.longest_wait_ns = to_ns(hf_load_relaxed(&entry.longest_wait_ticks));
    lock.longest_hold_ns = to_ns(hf_load_relaxed(&entry.longest_hold_ticks));
    lock.longest_holder = hf_load_relaxed(&entry.longest_holder);
    lock.creation_site = hf_load_relaxed(&entry.creation_site);
    copy_counts(entry.wait_histogram, lock.waits);
    copy_counts(entry.hold_histogram, lock.holds);
    return lock;
}

// Acquires pair with the releases of the thread that notes (N4, N5 in observe/thread_holds.h).
void add_holds_of(const hf_thread_holds &row, std::vector<thread_hold> &found) {
    std::uint32_t tid = hf_load_acquire(&row.tid);
    if (tid == HF_ROW_FREE || tid == HF_ROW_BEING_CLEARED)
        return;
    std::uint32_t counted = hf_load_relaxed(&row.counted);
    std::vector<thread_hold> own;
    for (std::size_t i = 0; i < HF_STATISTICS_HOLDS; i++) {
        std::uint64_t lock = hf_load_acquire(&row.holds[i].lock);
        std::uint64_t ticks = hf_load_acquire(&row.holds[i].ticks);
        if (lock != 0 && hf_load_relaxed(&row.holds[i].lock) == lock)
            own.push_back({.thread = tid, .lock = lock, .held_ns = to_ns(ticks), .counted = (counted >> i & 1) != 0});
    }
    if (hf_load_relaxed(&row.tid) == tid) // else it is another thread's by now
        found.insert(found.end(), own.begin(), own.end());
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
    // From whoever has the socket: memory that may shrink would end us by SIGBUS.
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return std::nullopt;
    void *memory = mmap(nullptr, HF_STATISTICS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return std::nullopt;
    statistics_reader reader(static_cast<const char *>(memory));
    if (reinterpret_cast<const hf_statistics_header *>(memory)->version != HF_STATISTICS_VERSION)
        return std::nullopt;
    return reader;
}

statistics_reader::statistics_reader(statistics_reader &&other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

statistics_reader &statistics_reader::operator=(statistics_reader &&other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
}

statistics_reader::~statistics_reader() {
    if (memory_)
        munmap(const_cast<char *>(memory_), HF_STATISTICS_BYTES);
}

thread_sums statistics_reader::read_threads() const {
    thread_sums sum;
    // At most 1: the process may have written anything.
    sum.bound_apart = hf_load_relaxed(&reinterpret_cast<const hf_statistics_header *>(memory_)->bound_apart) != 0;
    walk_threads(memory_, [&sum](const hf_thread_counters &thread) {
        sum.acquisitions += hf_load_relaxed(&thread.acquisitions);
        sum.contended += hf_load_relaxed(&thread.contended);
        sum.spun += hf_load_relaxed(&thread.spun);
        sum.blocked += hf_load_relaxed(&thread.blocked);
        sum.mode_switches += hf_load_relaxed(&thread.mode_switches);
    });
    return sum;
}

std::vector<rule_matches> statistics_reader::read_rules() const {
    std::vector<rule_matches> found;
    for (const hf_rule_statistics &each : reinterpret_cast<const hf_statistics_header *>(memory_)->rules) {
        std::array<char, HF_STATISTICS_RULE_BYTES> name{};
        std::memcpy(name.data(), each.name, name.size() - 1);
        if (name.front())
            found.push_back({.name = name.data(), .matched = hf_load_relaxed(&each.matched)});
    }
    return found;
}

process_snapshot statistics_reader::read() const {
    process_snapshot process;
    auto *header = reinterpret_cast<const hf_statistics_header *>(memory_);
    process.process = static_cast<pid_t>(hf_load_relaxed(&header->process));
    process.not_noted = hf_load_relaxed(&header->not_noted);
    process.threads = read_threads();
    process.rules = read_rules();
    std::unordered_map<std::uint64_t, std::uint64_t> pending;
    walk_threads(memory_, [&pending](const hf_thread_counters &thread) {
        if (std::uint64_t count = hf_load_relaxed(&thread.pending))
            pending[hf_load_relaxed(&thread.pending_lock)] += count;
    });
    auto *names = reinterpret_cast<const std::uint64_t *>(memory_ + HF_STATISTICS_NAMES_OFFSET);
    auto *entries = reinterpret_cast<const hf_lock_statistics *>(memory_ + HF_STATISTICS_LOCKS_OFFSET);
    for (std::size_t place = 0; place < HF_STATISTICS_LOCKS; place++) {
        std::uint64_t address = hf_load_relaxed(&names[place]);
        if (address == 0)
            continue;
        process.locks.push_back(snapshot_of(address, entries[place]));
        if (auto found = pending.find(address); found != pending.end()) {
            process.locks.back().contended += found->second;
            process.locks.back().slept += found->second;
        }
    }
    auto *rows = reinterpret_cast<const hf_thread_holds *>(memory_ + HF_STATISTICS_HOLDS_OFFSET);
    for (std::size_t row = 0; row < HF_STATISTICS_HOLDERS; row++)
        add_holds_of(rows[row], process.holds);
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
