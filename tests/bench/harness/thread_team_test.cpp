// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/thread_team.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <semaphore>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/thread_cpus.hpp"
#include "harness/measured_lock.hpp"
#include "harness/migration_counter.hpp"
#include "harness/runnable_counter.hpp"
#include "patience.hpp"

namespace {

using namespace holdfast::bench;

struct counting_worker {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t &count;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        count++;
        kind.unlock(lock);
    }
    void rest(std::uint64_t) {}
};

TEST(thread_team, runs_every_lock_and_ends) {
    for (std::string name : {"glibc", "default", "flexguard", "blocking", "ttas", "ticket", "mcs"}) {
        const hf_lock_kind &kind = find_lock(name);
        lock_array locks(kind, 1);
        std::uint64_t count = 0;
        team_result result = run_team(3, 0.02, [&](unsigned, team_phase &phase, thread_result &own) {
            counting_worker worker{kind, locks[0], count};
            repeat_until_stopped(phase, worker, own);
        });
        std::uint64_t measured = 0;
        for (const auto &thread : result.threads) {
            measured += thread.operations;
            EXPECT_GE(thread.wait_ticks.count(), thread.operations) << name;
        }
        EXPECT_EQ(result.threads.size(), 3u);
        EXPECT_GT(count, measured) << name; // the warm-up is not in it
        EXPECT_GE(result.elapsed_s, 0.02) << name;
        for (const auto &sample : result.runnable)
            EXPECT_LE(sample.threads, 3u) << name;
    }
}

// A thread that gets nothing in the warm-up must not keep the measurement from beginning.
TEST(thread_team, begins_without_a_thread_that_starves) {
    std::uint64_t operations = 0;
    for (double seconds : {0.05, 0.5, 5.0}) { // longer, where the machine did not let it run
        std::atomic<bool> measured = false;
        team_result result = run_team(2, seconds, [&](unsigned thread, team_phase &team, thread_result &own) {
            while (team.now() != phase::stopped) {
                if (thread == 0 && !measured)
                    team.first_operation_done(), measured = true;
                if (team.now() == phase::measuring)
                    own.operations++;
            }
        });
        operations = result.threads[0].operations;
        if (operations > 0)
            break;
    }
    EXPECT_GT(operations, 0u);
}

// Three threads poll and two sleep. A machine that has other work to do may let the pollers wait: they want to run all
// the same.
TEST(runnable_counter, tells_threads_that_want_to_run_from_those_that_sleep) {
    std::atomic<bool> stop = false;
    std::counting_semaphore<2> go(0);
    std::latch begun(5);
    std::vector<std::jthread> threads;
    std::vector<pid_t> tids(5);
    for (unsigned i = 0; i < 3; i++)
        threads.emplace_back([&, i] {
            tids[i] = gettid();
            begun.count_down();
            while (!stop)
                continue;
        });
    for (unsigned i = 3; i < 5; i++)
        threads.emplace_back([&, i] {
            tids[i] = gettid();
            begun.count_down();
            go.acquire();
        });
    begun.wait();
    runnable_counter counter(tids);
    EXPECT_EQ(counter.watched(), 5u);
    // Those that sleep may not have come to it yet.
    EXPECT_TRUE(holdfast::test::comes_true([&] { return counter.now() == 3; })) << counter.now();
    stop = true;
    go.release(2);
}

TEST(runnable_counter, looks_at_nobody_where_there_are_none_or_too_many) {
    for (std::size_t threads : {std::size_t{0}, thread_files::threads_max + 1}) {
        runnable_counter counter(std::vector<pid_t>(threads, gettid()));
        EXPECT_EQ(counter.watched(), 0u);
        EXPECT_EQ(counter.now(), 0u);
    }
}

// A thread that takes turns on two CPUs is moved each time.
TEST(migration_counter, counts_moves_to_another_cpu) {
    std::vector<int> cpus = holdfast::usable_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "needs two CPUs";
    if (!migrations_of_this_thread())
        GTEST_SKIP() << "this kernel does not count migrations in /proc/self/task/<tid>/sched";
    std::jthread([&] {
        holdfast::stay_on({cpus[0]});
        migration_counter moves({gettid()});
        EXPECT_EQ(moves.until_now(), 0);
        for (int i = 1; i <= 6; i++)
            holdfast::stay_on({cpus[i % 2]});
        EXPECT_EQ(moves.until_now(), 6);
        EXPECT_GE(migrations_of_this_thread().value_or(0), 6);
    });
}

TEST(migration_counter, says_nothing_of_threads_that_are_gone_and_of_too_many) {
    std::atomic<bool> stop = false;
    std::atomic<pid_t> tid = 0;
    std::thread thread([&] {
        tid = gettid();
        tid.notify_one();
        stop.wait(false);
    });
    tid.wait(0);
    migration_counter one({tid});
    EXPECT_EQ(one.until_now().has_value(), migrations_of_this_thread().has_value());
    stop = true;
    stop.notify_one();
    thread.join();
    EXPECT_TRUE(holdfast::test::comes_true([&] { return !one.until_now(); })); // joined, it is there for a moment yet
    EXPECT_FALSE(migration_counter(std::vector<pid_t>(thread_files::threads_max + 1, gettid())).until_now());
}

TEST(measured_lock, is_on_a_line_of_its_own) {
    lock_array locks(find_lock("mcs"), 3);
    auto first = reinterpret_cast<std::uintptr_t>(locks[0]);
    auto second = reinterpret_cast<std::uintptr_t>(locks[1]);
    EXPECT_EQ(first % HF_CACHE_LINE_BYTES, 0u);
    EXPECT_EQ(second - first, std::uintptr_t{HF_CACHE_LINE_BYTES});
}

TEST(measured_lock, is_refused_by_an_unknown_name) {
    EXPECT_THROW(find_lock("spin-o-matic"), std::invalid_argument);
}

} // namespace
