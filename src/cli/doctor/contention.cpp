// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/doctor/contention.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <map>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.hpp"
#include "cli/common/exit_status.hpp"
#include "cli/symbols/process_map.hpp"
#include "cli/symbols/unwinder.hpp"
#include "cli/waits/lock_words.hpp"
#include "cli/waits/wait_log.hpp"
#include "cli/waits/wait_profile.hpp"
#include "measure/quantity.hpp"
#include "monitor/bpf/futex_look.h"
#include "monitor/client/statistics_reader.hpp"
#include "monitor/futex_watch.hpp"
#include "monitor/wait_watch.hpp"

namespace holdfast::cli {
namespace {

// What the kernel has counted of all threads.
struct scheduler_counts {
    std::uint64_t threads = 0, ran_ns = 0, lacked_ns = 0, switches = 0;
};

std::uint64_t voluntary_switches_in(const std::filesystem::path &status) {
    std::ifstream file(status);
    constexpr std::string_view begin = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(begin))
            return std::strtoull(line.c_str() + begin.size(), nullptr, 10);
    }
    return 0;
}

scheduler_counts scheduler_counts_of(pid_t process) {
    scheduler_counts sum;
    std::error_code error;
    for (const auto &thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        std::ifstream file(thread.path() / "schedstat");
        std::uint64_t ran_ns = 0, lacked_ns = 0;
        file >> ran_ns >> lacked_ns;
        sum.threads++;
        sum.ran_ns += ran_ns;
        sum.lacked_ns += lacked_ns;
        sum.switches += voluntary_switches_in(thread.path() / "status");
    }
    return sum;
}

// Threads that sleep for a lock at this moment, each with the word and how often it has slept: what is the same later
// is one sleep. (By futex(2)'s third argument, as the futex watch has it.)
std::map<std::string, std::string> lock_sleepers_of(pid_t process, bool in_musl) {
    std::map<std::string, std::string> found;
    std::error_code error;
    for (const auto &thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        std::ifstream file(thread.path() / "syscall");
        std::string number, word, command, expected;
        file >> number >> word >> command >> expected;
        auto look = hf_futex_look_of(static_cast<std::uint32_t>(std::strtoull(expected.c_str(), nullptr, 16)));
        bool is_lock = look != 0 && !(in_musl && look == HF_FUTEX_IS_TWO);
        if (number == std::to_string(SYS_futex) && is_lock)
            found[thread.path().filename()] =
                fmt::format("{} {}", word, voluntary_switches_in(thread.path() / "status"));
    }
    return found;
}

// What threads that have ended counted is lost.
double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
    return static_cast<double>(now - std::min(before, now)) / seconds;
}

double cpus_allowed_to(pid_t process) {
    cpu_set_t set;
    return sched_getaffinity(process, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                              : static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
}

double count_of_same(const std::map<std::string, std::string> &before, const std::map<std::string, std::string> &now) {
    return static_cast<double>(std::ranges::count_if(now, [&](const auto &each) {
        auto known = before.find(each.first);
        return known != before.end() && known->second == each.second;
    }));
}

// Of its own locks, if it is under Holdfast.
struct lock_counts {
    std::uint64_t acquisitions = 0, contended = 0, waits = 0;
    double waited_ns = 0, asleep_ns = 0;
};

class lock_readers {
public:
    explicit lock_readers(pid_t process) {
        for (const std::string &socket : sockets_of(process)) {
            auto opened = open_statistics(socket, process);
            if (opened.value && !opened.value->empty()) {
                readers_ = std::move(*opened.value);
                return;
            }
        }
    }

    bool is_empty() const { return readers_.empty(); }

    lock_counts read() const {
        lock_counts sum;
        for (const statistics_reader &reader : readers_) {
            process_snapshot now = reader.read();
            sum.acquisitions += now.threads.acquisitions;
            sum.contended += now.threads.contended;
            for (const lock_snapshot &each : now.locks) {
                sum.waits += each.contended + each.gave_up;
                sum.waited_ns += each.waited_ns + each.waiting_ns;
                sum.asleep_ns += each.asleep_ns;
            }
        }
        return sum;
    }

private:
    std::vector<statistics_reader> readers_;
};

void put_locks(const lock_counts &before, const lock_counts &now, contention &found) {
    double waits = per_second(before.waits, now.waits, found.seconds);
    double waited_ns = std::max(0.0, now.waited_ns - before.waited_ns);
    found.acquisitions_per_s = per_second(before.acquisitions, now.acquisitions, found.seconds);
    found.waits_per_s = waits;
    found.waiters = std::min(waited_ns / 1e9 / found.seconds, found.threads);
    if (waits > 0)
        found.mean_wait_ns = waited_ns / (waits * found.seconds);
    if (*found.acquisitions_per_s > 0)
        found.contended_share = per_second(before.contended, now.contended, found.seconds) / *found.acquisitions_per_s;
    if (waited_ns > 0)
        found.spun_share = std::clamp(1 - (now.asleep_ns - before.asleep_ns) / waited_ns, 0.0, 1.0);
}

hf_futex_totals totals_of(const futex_watch &watch, pid_t process, bool in_musl) {
    hf_futex_totals all{};
    std::vector<futex_waits> words;
    for (const futex_waits &each : watch.read()) {
        if (each.key.pid != static_cast<std::uint32_t>(process))
            continue;
        if (each.key.address == 0)
            all = each.totals;
        else
            words.push_back(each);
    }
    return lock_totals::of(all, words, in_musl).all;
}

// The watch begins to count when it is loaded: there is nothing before.
void put_sleeps(const hf_futex_totals &totals, double slept_all_the_time, contention &found) {
    found.waits_per_s = static_cast<double>(totals.lock_waits) / found.seconds;
    found.waiters =
        std::min(static_cast<double>(totals.lock_waited_ns) / 1e9 / found.seconds + slept_all_the_time, found.threads);
    if (totals.lock_waits != 0)
        found.mean_wait_ns = static_cast<double>(totals.lock_waited_ns) / static_cast<double>(totals.lock_waits);
    found.other_sleeps_per_s = static_cast<double>(totals.sleeps - totals.lock_waits) / found.seconds;
}

// Where its threads sleep, as far as this user and this build may see it.
class stack_watch {
public:
    explicit stack_watch(pid_t process) : process_(process) {
        if (!unwinder::why_not().empty())
            return;
        try {
            watch_ = std::make_unique<wait_watch>(wait_watch::plan{
                .everybody = false, .locks_alone = false, .preemptions = false, .all_of_slot = waits_of_slot});
            if (!watch_->follow(process))
                watch_.reset();
        } catch (const wait_watch_unavailable &) {
            watch_.reset(); // the figures that are left say less
        }
    }

    void read() {
        if (watch_)
            log_.read(*watch_, [this](const lock_wait &wait) { profile_.add(wait); });
    }

    void put(contention &found) {
        read();
        for (const watched_process &each : profile_.processes()) {
            if (each.pid != process_)
                continue;
            for (const lock_profile &lock : profile_.of(each, log_))
                put(lock, found);
        }
    }

private:
    static constexpr unsigned waits_of_slot = 16;
    static constexpr std::size_t shown_max = 3;
    static constexpr double waiters_least = 0.05;

    static void put(const lock_profile &lock, contention &found) {
        bool is_lock = lock.kind.is == wait_class::lock && !lock.kind.name.empty();
        double waiters = static_cast<double>(lock.waited_ns) / 1e9 / found.seconds;
        if ((!is_lock && lock.kind.is != wait_class::own) || waiters < waiters_least ||
            found.of_its_own.size() == shown_max)
            return;
        std::string name = lock.name;
        constexpr std::string_view of_heap = " waited for in "; // which stands in the sentence already
        if (auto at = name.find(of_heap); at != std::string::npos)
            name.replace(at, of_heap.size(), " in ");
        found.of_its_own.push_back(
            {.name = name,
             .where = lock.waiters.empty() || !lock.kind.name.empty() ? "" : place_in_words(lock.waiters.front().where),
             .is_lock = is_lock,
             .waits_per_s = static_cast<double>(lock.waits) / found.seconds,
             .waiters = std::min(waiters, found.threads)});
    }

    pid_t process_;
    std::unique_ptr<wait_watch> watch_;
    wait_log log_;
    wait_profile profile_;
};

void wait_while_it_runs(pid_t process, double seconds, stack_watch &stacks) {
    constexpr double apart_s = 0.05;
    descriptor itself(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    pollfd ended = {itself.get(), POLLIN, 0};
    std::uint64_t until_ns = hf_monotonic_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    for (std::uint64_t now_ns = hf_monotonic_ns(); now_ns < until_ns; now_ns = hf_monotonic_ns()) {
        double left_s = std::min(static_cast<double>(until_ns - now_ns) / 1e9, apart_s);
        if (!itself || poll(&ended, 1, static_cast<int>(left_s * 1000) + 1) > 0)
            throw failure(fmt::format("process {} has ended meanwhile", process));
        stacks.read();
    }
}

} // namespace

contention watch_contention(pid_t process, double seconds) {
    lock_readers locks(process);
    contention found;
    std::unique_ptr<futex_watch> futexes;
    if (locks.is_empty()) {
        try {
            futexes = std::make_unique<futex_watch>();
        } catch (const futex_watch_unavailable &unavailable) {
            found.why_not_seen = unavailable.what();
        }
    }
    stack_watch stacks(process);
    scheduler_counts before = scheduler_counts_of(process);
    lock_counts locks_before = locks.read();
    bool in_musl = runs_on_musl(process);
    auto asleep_before = lock_sleepers_of(process, in_musl);
    std::uint64_t begun_ns = hf_monotonic_ns();
    wait_while_it_runs(process, seconds, stacks);
    found.seconds = static_cast<double>(hf_monotonic_ns() - begun_ns) / 1e9;
    scheduler_counts now = scheduler_counts_of(process);
    found.threads = static_cast<double>(now.threads);
    found.cpus_allowed = cpus_allowed_to(process);
    found.cpus_used = per_second(before.ran_ns, now.ran_ns, found.seconds) / 1e9;
    found.cpus_lacked = per_second(before.lacked_ns, now.lacked_ns, found.seconds) / 1e9;
    found.switches_per_s = per_second(before.switches, now.switches, found.seconds);
    if (!locks.is_empty())
        put_locks(locks_before, locks.read(), found);
    else if (futexes)
        put_sleeps(totals_of(*futexes, process, in_musl),
                   count_of_same(asleep_before, lock_sleepers_of(process, in_musl)), found);
    stacks.put(found);
    return found;
}

const char *name_of(contention_verdict is) {
    switch (is) {
    case contention_verdict::may_help: return "may help";
    case contention_verdict::helps_now: return "helps now";
    case contention_verdict::hardly_waits: return "hardly waits";
    case contention_verdict::long_holds: return "long holds";
    case contention_verdict::out_of_reach: return "out of reach";
    case contention_verdict::not_known: return "not known";
    }
    return "unknown";
}

contention_finding judge(const contention &watched, const program_examination &examined, pid_t process) {
    using enum contention_verdict;
    // A sleep and a wake-up cost some microseconds of CPU time each: so many waits are a percent of a CPU.
    constexpr double waiters_little = 0.05, waits_little_per_s = 1000, wait_long_ns = 1e6;
    if (!watched.waiters)
        return {not_known, "whether it waits for locks is not to be seen: " + watched.why_not_seen};
    std::string where = fmt::format("'holdfast record --pid {} --seconds 10' and 'holdfast report' tell where, and who "
                                    "holds them",
                                    process);
    std::string of_its_own;
    for (const contention::unlike_wait &each : watched.of_its_own)
        of_its_own += fmt::format("{}{:.2g} threads on average wait for {}", of_its_own.empty() ? "" : ", ",
                                  each.waiters, each.name);
    if (*watched.waiters < waiters_little && *watched.waits_per_s < waits_little_per_s && !of_its_own.empty())
        return {out_of_reach,
                fmt::format("it waits, but hardly for locks that Holdfast makes faster: {}; {}", of_its_own, where)};
    if (*watched.waiters < waiters_little && *watched.waits_per_s < waits_little_per_s)
        return {hardly_waits, fmt::format("it hardly waits for locks under this load ({:.2g} of {:.0f} threads on "
                                          "average): Holdfast, or another lock, would change little",
                                          *watched.waiters, watched.threads)};
    using verdict = program_examination::verdict;
    if (examined.is == verdict::helped_now || examined.is == verdict::blocks_now)
        return {helps_now,
                fmt::format("it waits for locks, under Holdfast already: 'holdfast top' shows which; {}", where)};
    if (examined.is != verdict::helped)
        return {out_of_reach,
                fmt::format("it waits for locks, which Holdfast can't replace: {}; {}", examined.why, where)};
    if (watched.mean_wait_ns.value_or(0) > wait_long_ns)
        return {
            long_holds,
            fmt::format("its waits are long ({} on average), so its locks are held for long: another lock would not "
                        "make that shorter; {}",
                        format_duration_ns(*watched.mean_wait_ns), where)};
    return {may_help, fmt::format("it waits for locks, for a short time each: Holdfast may help: measure it with "
                                  "'holdfast compare --rounds 7 -- PROGRAM'; {}",
                                  where)};
}

} // namespace holdfast::cli
