// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/thread_team.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "harness/measured_lock.hpp"

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
    }
}

// A thread that gets nothing in the warm-up must not keep the measurement from beginning.
TEST(thread_team, begins_without_a_thread_that_starves) {
    std::atomic<bool> measured = false;
    team_result result = run_team(2, 0.05, [&](unsigned thread, team_phase &team, thread_result &own) {
        while (team.now() != phase::stopped) {
            if (thread == 0 && !measured)
                team.first_operation_done(), measured = true;
            if (team.now() == phase::measuring)
                own.operations++;
        }
    });
    EXPECT_GT(result.threads[0].operations, 0u);
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
