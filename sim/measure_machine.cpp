// SPDX-License-Identifier: MIT OR Apache-2.0
// libexec/holdfast/measure-machine: this machine as a file of the simulator's, from what its first and its last CPU
// take for single operations. Nothing of it is fitted to what any lock does. What can't be measured from a program is
// taken from another machine's file, and said so.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <fmt/core.h>
#include <functional>
#include <linux/futex.h>
#include <map>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "base/thread_cpus.hpp"
#include "engine/machine.hpp"

namespace {

using holdfast::sim::machine, holdfast::stay_on, holdfast::usable_cpus;

double now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> of) {
    auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    return *middle;
}

// What one of them takes: the median of batches, in which nothing else has run, mostly.
template <typename operation>
double each_ns(operation one) {
    constexpr int batches = 51, in_batch = 500;
    std::vector<double> took;
    for (int batch = 0; batch < batches; batch++) {
        double began = now_ns();
        for (int i = 0; i < in_batch; i++)
            one();
        took.push_back((now_ns() - began) / in_batch);
    }
    return median(took);
}

long futex(std::atomic<std::uint32_t> &word, int operation, std::uint32_t value) {
    return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

struct alignas(64) padded_word {
    std::atomic<std::uint32_t> value = 0;
};

void wait_for_loads() {
#if defined(__x86_64__)
    asm volatile("lfence" ::: "memory");
#else
    asm volatile("dsb ld; isb" ::: "memory");
#endif
}

void wait_for_all() {
#if defined(__x86_64__)
    asm volatile("mfence; lfence" ::: "memory");
#else
    asm volatile("dsb sy; isb" ::: "memory");
#endif
}

// What lines take that another CPU has changed, each waited for by itself: a load, and a load and a store. Where a load
// shares the line, the store has to ask for it again.
struct line_times {
    double load_ns, load_and_store_ns;
};

line_times changed_lines(int one, int other) {
    constexpr std::size_t lines = 256, stride = 97; // in an order that no prefetcher guesses
    constexpr int rounds = 101;
    struct alignas(128) line_of_pair { // lines come in pairs where the neighbour is prefetched
        std::atomic<std::uint32_t> value = 0;
    };
    static std::array<line_of_pair, lines> all;
    std::atomic<int> changed = 0, wanted = 0;
    std::thread changes([&] {
        stay_on({other});
        for (int round = 1; round <= 2 * rounds; round++) {
            while (wanted.load() != round)
                continue;
            for (auto &line : all)
                line.value.fetch_add(1);
            changed = round;
        }
    });
    stay_on({one});
    std::vector<double> loads, both;
    for (int round = 1; round <= 2 * rounds; round++) {
        wanted = round;
        while (changed.load() != round)
            continue;
        bool stores = round % 2 == 0;
        double began = now_ns();
        for (std::size_t i = 0; i < lines; i++) {
            auto &value = all.at(i * stride % lines).value;
            std::uint32_t seen = value.load(std::memory_order_relaxed);
            wait_for_loads();
            if (stores)
                value.store(seen + 1, std::memory_order_relaxed);
            wait_for_all();
        }
        (stores ? both : loads).push_back((now_ns() - began) / lines);
    }
    changes.join();
    return {median(loads), median(both)};
}

// A wake of a thread that sleeps on another CPU, which is idle: what the call takes, and when the thread goes on.
struct wake_times {
    double call_ns, until_runs_ns;
};

wake_times wake_other(int one, int other) {
    constexpr std::uint32_t rounds = 200;
    padded_word turn;
    std::atomic<double> woken_at = 0;
    std::thread sleeps([&] {
        stay_on({other});
        for (std::uint32_t round = 1; round <= rounds; round++) {
            while (turn.value.load() != round)
                futex(turn.value, FUTEX_WAIT, round - 1);
            woken_at = now_ns();
        }
    });
    stay_on({one});
    std::vector<double> call, runs;
    for (std::uint32_t round = 1; round <= rounds; round++) {
        for (double until = now_ns() + 200e3; now_ns() < until;) // it sleeps by then
            continue;
        woken_at = 0;
        double began = now_ns();
        turn.value = round;
        futex(turn.value, FUTEX_WAKE, 1);
        double called = now_ns();
        while (woken_at == 0)
            continue;
        call.push_back(called - began);
        runs.push_back(woken_at - began);
    }
    sleeps.join();
    return {median(call), median(runs)};
}

// Two threads on one CPU that yield to each other.
double yield_ns(int cpu) {
    constexpr int rounds = 20000;
    std::atomic<bool> over = false;
    std::thread other([&] {
        stay_on({cpu});
        while (!over)
            sched_yield();
    });
    stay_on({cpu});
    double began = now_ns();
    for (int round = 0; round < rounds; round++)
        sched_yield();
    double took = (now_ns() - began) / rounds / 2;
    over = true;
    other.join();
    return took;
}

// For how long a thread that only reads the clock did not get on, in all and how often.
struct lost_time {
    double every_ns = 0, ns = 0;
};

lost_time lost(int cpu, double least_ns, double most_ns) {
    constexpr double looked_ns = 1e9;
    stay_on({cpu});
    double began = now_ns(), lost_ns = 0;
    int times = 0;
    for (double before = began, now = began; now - began < looked_ns; before = now) {
        now = now_ns();
        if (now - before >= least_ns && now - before < most_ns) {
            lost_ns += now - before;
            times++;
        }
    }
    return times ? lost_time{looked_ns / times, lost_ns / times} : lost_time{};
}

double one_pause_ns() {
    return each_ns([] {
#if defined(__x86_64__)
        asm volatile("pause");
#else
        asm volatile("isb");
#endif
    });
}

double one_tick_ns() {
    return each_ns([] {
#if defined(__x86_64__)
        asm volatile("rdtsc" ::: "eax", "edx");
#else
        std::uint64_t ticks;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
#endif
    });
}

} // namespace

int main(int argc, char **argv) {
    std::string template_path;
    CLI::App app{"Measures this machine and prints it as a file for 'holdfast simulate --machine'.", "measure-machine"};
    app.add_option("template", template_path, "A machine's file, for what can't be measured")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        machine other = holdfast::sim::read_machine(template_path);
        std::vector<int> cpus = usable_cpus();
        int first = cpus.front(), last = cpus.back();
        std::map<std::string, double> measured;
        measured["cpus"] = static_cast<double>(cpus.size());
        stay_on({first});
        padded_word word;
        measured["rmw_ns"] = each_ns([&] {
            std::uint32_t zero = 0;
            word.value.compare_exchange_strong(zero, 0);
        });
        measured["pause_ns"] = one_pause_ns();
        measured["ticks_ns"] = one_tick_ns();
        measured["clock_ns"] = each_ns([] { now_ns(); });
        measured["call_ns"] = each_ns([&] { futex(word.value, FUTEX_WAIT, 1); }) / 2;
        measured["wake_call_ns"] = each_ns([&] { futex(word.value, FUTEX_WAKE, 1); });
        if (first != last) {
            padded_word own;
            double fences = each_ns([&] {
                own.value.load(std::memory_order_relaxed);
                wait_for_loads();
                wait_for_all();
            });
            line_times changed = changed_lines(first, last);
            double transfer = std::max(0.0, changed.load_ns - fences);
            for (const char *name : {"transfer_complex_ns", "transfer_socket_ns", "transfer_remote_ns"})
                measured[name] = transfer;
            measured["load_takes"] = changed.load_and_store_ns - changed.load_ns < transfer / 2;
            wake_times woken = wake_other(first, last);
            measured["wake_ns"] = std::max(0.0, woken.call_ns - measured["wake_call_ns"]);
            measured["idle_exit_ns"] =
                std::max(0.0, woken.until_runs_ns - woken.call_ns - measured["call_ns"] - other.switch_ns);
        }
        measured["switch_ns"] = yield_ns(first);
        // An interrupt is short; of what is long somebody else had the CPU.
        constexpr double interrupt_least_ns = 1e3, stolen_least_ns = 20e3;
        lost_time interrupts = lost(first, interrupt_least_ns, stolen_least_ns),
                  stolen = lost(last, stolen_least_ns, 1e9);
        measured["interrupts_every_ns"] = interrupts.every_ns;
        measured["interrupts_last_ns"] = interrupts.ns;
        measured["stolen_every_ns"] = stolen.every_ns;
        measured["stolen_ns"] = stolen.ns;
        fmt::print("# SPDX-License-Identifier: MIT OR Apache-2.0\n"
                   "# Written by measure-machine. \"not measured\": as {} has it.\n",
                   other.name);
        for (const auto &one : holdfast::sim::machine_numbers()) {
            auto found = measured.find(one.name);
            fmt::print("{} {:.6g} # {}\n", one.name, found == measured.end() ? other.*one.member : found->second,
                       found == measured.end() ? "not measured" : "measured");
        }
        return 0;
    } catch (const std::exception &error) {
        fmt::print(stderr, "measure-machine: {}\n", error.what());
        return 1;
    }
}
