// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that take one lock again and again, and how many of their critical sections lost the CPU, whatever the lock
// knows of that. The kernel says so without a call: a counter of a thread's own is set up anew whenever the thread
// comes back to a CPU, and the page that it shares with the program counts that.
//
// Not a workload of `holdfast bench`: for a machine whose clock counts instructions (slice_extension_figures).
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <system_error>

#include <fmt/core.h>

#include "harness/command_line.hpp"
#include "harness/measured_lock.hpp"
#include "harness/run_for.hpp"
#include "harness/wrong_result.hpp"

namespace {

using namespace holdfast::bench;
using steady = std::chrono::steady_clock;

// How often the calling thread has come to a CPU.
class arrivals {
public:
    arrivals() {
        perf_event_attr wanted = {};
        wanted.type = PERF_TYPE_SOFTWARE;
        wanted.size = sizeof(wanted);
        wanted.config = PERF_COUNT_SW_DUMMY;
        wanted.exclude_kernel = 1;
        counter_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
        void *page = MAP_FAILED;
        if (counter_ >= 0)
            page = mmap(nullptr, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, counter_, 0);
        if (page == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "no counter of the thread's own");
        page_ = static_cast<const volatile perf_event_mmap_page *>(page);
    }
    ~arrivals() {
        munmap(const_cast<perf_event_mmap_page *>(page_), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
        close(counter_);
    }
    arrivals(const arrivals &) = delete;
    arrivals &operator=(const arrivals &) = delete;

    std::uint32_t now() const { return page_->lock; }

private:
    int counter_ = -1;
    const volatile perf_event_mmap_page *page_ = nullptr;
};

// One copy: inlined, a turn had two instructions where it was timed and three inside sections, and where a clock counts
// instructions sections were half as long again as they were to be.
[[gnu::noinline]] void be_busy(std::uint64_t turns) {
    for (std::uint64_t turn = 0; turn < turns; turn++)
        asm volatile("" ::: "memory");
}

// By turns and not by the clock: a thread that was away has its work still to do.
double ns_of_turn() {
    constexpr std::uint64_t turns = 20000;
    double least = INFINITY;
    for (int round = 0; round < 10; round++) {
        auto began = steady::now();
        be_busy(turns);
        least = std::min(least, std::chrono::duration<double, std::nano>(steady::now() - began).count());
    }
    return least / turns;
}

struct options {
    std::string lock = "glibc";
    unsigned threads = 4;
    double seconds = 1, inside_us = 1, outside_us = 1;
};

struct outcome {
    std::uint64_t sections = 0, preempted = 0;
};

void measure(const options &wanted) {
    const hf_lock_kind &kind = find_lock(wanted.lock);
    lock_array locks(kind, 1);
    double turn = ns_of_turn();
    auto inside = static_cast<std::uint64_t>(wanted.inside_us * 1e3 / turn);
    auto outside = static_cast<std::uint64_t>(wanted.outside_us * 1e3 / turn);
    std::uint64_t counted = 0; // by whoever has the lock
    std::vector<outcome> outcomes(wanted.threads);
    std::vector<timed_body> bodies;
    for (outcome &own : outcomes)
        bodies.emplace_back([&](const std::atomic<bool> &over) {
            arrivals arrived;
            while (!over.load(std::memory_order_relaxed)) {
                kind.lock(locks[0]);
                std::uint32_t before = arrived.now();
                counted++;
                be_busy(inside);
                own.preempted += arrived.now() != before;
                kind.unlock(locks[0]);
                own.sections++;
                be_busy(outside);
            }
        });
    double passed = run_for(wanted.seconds, bodies);
    outcome all;
    for (const outcome &one : outcomes) {
        all.sections += one.sections;
        all.preempted += one.preempted;
    }
    if (counted != all.sections)
        throw wrong_result("two threads were inside at once");
    auto of = static_cast<double>(all.sections);
    fmt::print("{:.0f} sections/s, {} preempted, {:.2f} of a million\n", of / passed, all.preempted,
               1e6 * static_cast<double>(all.preempted) / of);
}

} // namespace

int main(int argc, char **argv) {
    options wanted;
    command_line line{
        .name = "preempted-sections",
        .summary = "How many critical sections lose the CPU.",
        .options = {{"--lock", wanted.lock, {}, "Lock, as of 'holdfast bench'"},
                    threads_option(wanted.threads),
                    seconds_option(wanted.seconds),
                    {"--inside-us", wanted.inside_us, 0, 1e6, "Work inside, in microseconds"},
                    {"--outside-us", wanted.outside_us, 0, 1e6, "Work between two sections"}},
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return run_checked(line.name, [&] { measure(wanted); });
}
