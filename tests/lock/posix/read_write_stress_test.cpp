// SPDX-License-Identifier: MIT OR Apache-2.0
// The reader-writer lock under forced preemption (preempted_team.hpp) and a hint that changes all the time, with
// readers, writers and threads that do both, tries and timed waits among them; with locks that prefer readers and
// writers. Sections are short, so that waiters come to leave the lock to each other (lock/posix/read_write_batch.h).
//
// Shown able to fail: a reader that comes back from its turn is not counted; stays critical meanwhile; the last reader
// wakes nobody; a writer wakes no reader, or no writer; a thread that has slept forgets the others that do; the last
// writer leaves WRITERS_FIRST; a reader gets in beside a writer, or a writer beside readers; nobody ever leaves the
// lock to others.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

#include "base/cpu_count.h"
#include "lock/every_lock.hpp"
#include "lock/mode_changes.hpp"
#include "lock/posix/read_write_lock.h"
#include "lock/preempted_team.hpp"
#include "lock/wait/defer_policy.h"
#include "lock/wait/lock_history.h"
#include "park/deadline.h"
#include "patience.hpp"

namespace holdfast::test {
namespace {

constexpr int runs = 30;

// How long a word takes from one CPU to another and back, at best: far below a microsecond. Where one thread does the
// work of all CPUs (an emulator) it is their turns, so a waiter never sees an owner come back soon.
std::uint64_t quickest_round_trip_ns() {
    constexpr int rounds = 100;
    std::atomic<int> ball = 0;
    auto wait_for = [&ball](int wanted) {
        for (int polls = 0; ball != wanted; polls++)
            polls % 1000 ? hf_pause() : static_cast<void>(sched_yield());
    };
    std::thread other([&] {
        for (int round = 0; round < rounds; round++) {
            wait_for(2 * round + 1);
            ball = 2 * round + 2;
        }
    });
    std::uint64_t best_ns = ~std::uint64_t{0};
    for (int round = 0; round < rounds; round++) {
        std::uint64_t began_ns = hf_monotonic_ns();
        ball = 2 * round + 1;
        wait_for(2 * round + 2);
        best_ns = std::min(best_ns, hf_monotonic_ns() - began_ns);
    }
    other.join();
    return best_ns;
}

enum class way { waits, tries, waits_until };

class read_write_stress : public testing::TestWithParam<bool> {
protected:
    hf_rw_lock lock{};
    protected_pair pair;
    std::atomic<unsigned long> writes = 0;
    std::atomic<int> writing = 0, reading = 0;

    static bool prefers_writers() { return GetParam(); }

    // As preload/rwlock.c does.
    bool take_to_read(way how, const hf_deadline *deadline) {
        hf_thread_record *self = hf_self();
        if (how == way::tries)
            return hf_rw_read_try_acquire(&lock, self) == 0;
        if (hf_rw_has_begun(hf_rw_read_begin(&lock, self)))
            return true;
        if (!prefers_writers())
            return hf_rw_wait_to_read(&lock, self, deadline) == 0;
        hf_rw_read_release(&lock, self);
        return hf_rw_wait_behind_writers(&lock, self, deadline) == 0;
    }
    bool take_to_write(way how, const hf_deadline *deadline) {
        hf_thread_record *self = hf_self();
        if (hf_rw_write_try_acquire(&lock, self))
            return true;
        if (how == way::tries)
            return false;
        return (prefers_writers() ? hf_rw_wait_to_write_first : hf_rw_wait_to_write)(&lock, self, deadline) == 0;
    }

    void read(way how) {
        hf_deadline soon = {.clock = CLOCK_MONOTONIC, .at = from_now(CLOCK_MONOTONIC, 1)};
        if (!take_to_read(how, how == way::waits_until ? &soon : nullptr)) {
            sched_yield();
            return;
        }
        reading++;
        ASSERT_EQ(writing, 0) << "a reader beside a writer";
        ASSERT_EQ(pair.first, pair.second);
        reading--;
        hf_rw_read_release(&lock, hf_self());
        ASSERT_EQ(hf_self()->critical.critical_depth, 0u);
    }
    void write(way how) {
        hf_deadline soon = {.clock = CLOCK_MONOTONIC, .at = from_now(CLOCK_MONOTONIC, 1)};
        if (!take_to_write(how, how == way::waits_until ? &soon : nullptr)) {
            sched_yield();
            return;
        }
        ASSERT_EQ(++writing, 1) << "two writers";
        ASSERT_EQ(reading, 0) << "a writer beside a reader";
        pair.touch();
        writing--;
        writes++;
        hf_rw_write_release(&lock, hf_self());
        ASSERT_EQ(hf_self()->critical.critical_depth, 0u);
    }

    bool was_left_to_others() const { return hf_history_of(&lock.releases)->lock == &lock.releases; }

    // Whether CPUs hear of each other so soon that some waiter finds the lock hot.
    const bool comes_to_leave_it = hf_cpus_usable() > 1 && quickest_round_trip_ns() < HF_DEFER_SLICE_NS / 10;

    // A slow machine finds it hot later.
    void run_team(const std::function<void(int)> &once) {
        patience left;
        do {
            preempted_team(runs).run("reader-writer", once);
        } while (comes_to_leave_it && !was_left_to_others() && !left.is_over());
    }

    void expect_all_was_counted() const {
        EXPECT_EQ(pair.first, writes);
        EXPECT_GT(pair.first, 0u);
        EXPECT_EQ(lock.state & ~(HF_RW_WRITERS_SLEEP | HF_RW_READERS_SLEEP), 0u) << "nobody is inside any more";
        EXPECT_EQ(lock.waiting_writers, 0u);
        if (comes_to_leave_it) {
            EXPECT_TRUE(was_left_to_others()) << "nobody left the lock to others";
        }
    }
};

TEST_P(read_write_stress, ExcludesAndLosesNobodyUnderPreemption) {
    run_team([&](int member) { member % 3 ? read(way::waits) : write(way::waits); });
    expect_all_was_counted();
}

TEST_P(read_write_stress, MixesEveryWayToTakeIt) {
    mode_changes modes;
    run_team([&](int member) {
        static thread_local unsigned turn = 0;
        way how = ++turn % 3 == 0 ? way::waits_until : way::waits;
        switch (member) {
        case 0:
        case 1: return write(way::waits);
        case 2: return write(how);
        case 3: return read(how);
        case 4: return turn % 2 ? read(way::tries) : write(way::tries);
        default: return turn % 8 ? read(way::waits) : write(how);
        }
    });
    expect_all_was_counted();
}

INSTANTIATE_TEST_SUITE_P(preference, read_write_stress, testing::Values(false, true),
                         [](const auto &one) { return one.param ? "prefers_writers" : "prefers_readers"; });

} // namespace
} // namespace holdfast::test
