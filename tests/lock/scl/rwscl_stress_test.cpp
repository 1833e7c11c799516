// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL under forced preemption (preempted_team.hpp) and a hint that changes all the time, with readers, writers and
// threads that do both; tries and timed waits among them; with slices of several lengths and one or two NUMA nodes.
//
// Shown able to fail: gates that are not closed; a drain given up that forgets who is inside; nobody keeps the time;
// the end of the writers' slice wakes nobody; the last reader wakes nobody; a reader leaves a closed gate as an open
// one.
#include <atomic>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/numa.h"
#include "holdfast/rwscl.h"
#include "lock/every_lock.hpp"
#include "lock/mode_changes.hpp"
#include "lock/preempted_team.hpp"

namespace holdfast::test {
namespace {

constexpr int runs = 20;

struct shape {
    unsigned nodes;
    std::uint32_t slice_us;
};

class rwscl_stress : public testing::TestWithParam<shape> {
protected:
    rwscl_stress() {
        hf_numa_pretend(GetParam().nodes);
        hf_rwscl_set_slice(&lock, GetParam().slice_us);
    }
    ~rwscl_stress() override { hf_numa_pretend(1); }

    hf_rwscl_t lock = HF_RWSCL_INIT;
    protected_pair pair;
    std::atomic<unsigned long> writes = 0;
    std::atomic<int> writing = 0, reading = 0;

    void inside_to_read() {
        reading++;
        ASSERT_EQ(writing, 0) << "a reader beside a writer";
        ASSERT_EQ(pair.first, pair.second);
        reading--;
    }
    void inside_to_write() {
        ASSERT_EQ(++writing, 1) << "two writers";
        ASSERT_EQ(reading, 0) << "a writer beside a reader";
        pair.touch();
        writing--;
        writes++;
    }

    void read(bool tries, bool timed) {
        timespec soon = from_now(CLOCK_MONOTONIC, timed ? 1 : 0);
        if (tries ? !hf_rwscl_read_trylock(&lock)
                  : timed && hf_rwscl_read_clocklock(&lock, CLOCK_MONOTONIC, &soon) != 0) {
            sched_yield();
            return;
        }
        if (!tries && !timed)
            hf_rwscl_read_lock(&lock);
        inside_to_read();
        hf_rwscl_read_unlock(&lock);
    }
    void write(bool tries, bool timed) {
        timespec soon = from_now(CLOCK_MONOTONIC, timed ? 1 : 0);
        if (tries ? !hf_rwscl_write_trylock(&lock)
                  : timed && hf_rwscl_write_clocklock(&lock, CLOCK_MONOTONIC, &soon) != 0) {
            sched_yield();
            return;
        }
        if (!tries && !timed)
            hf_rwscl_write_lock(&lock);
        inside_to_write();
        hf_rwscl_write_unlock(&lock);
    }
};

TEST_P(rwscl_stress, ExcludesAndLosesNobodyUnderPreemption) {
    preempted_team(runs).run("rwscl", [&](int member) { member % 3 ? read(false, false) : write(false, false); });
    EXPECT_EQ(pair.first, writes);
    EXPECT_GT(pair.first, 0u);
}

TEST_P(rwscl_stress, MixesEveryWayToTakeIt) {
    mode_changes modes;
    preempted_team(runs).run("rwscl", [&](int member) {
        static thread_local unsigned turn = 0;
        turn++;
        switch (member) {
        case 0: return write(false, false);
        case 1: return write(turn % 2, true);
        case 2:
        case 3: return read(false, false);
        case 4: return read(turn % 2, true);
        case 5:
            hf_rwscl_set_ratio(&lock, turn % 9 + 1, turn % 4 + 1);
            return turn % 2 ? read(true, false) : write(true, false);
        default: return turn % 4 ? read(false, turn % 3 == 0) : write(false, turn % 3 == 0);
        }
    });
    EXPECT_EQ(pair.first, writes);
    EXPECT_GT(pair.first, 0u);
}

INSTANTIATE_TEST_SUITE_P(shapes, rwscl_stress, testing::Values(shape{1, 0}, shape{2, 0}, shape{1, 100}, shape{2, 2000}),
                         [](const auto &one) {
                             return std::to_string(one.param.nodes) + "_nodes_" + std::to_string(one.param.slice_us) +
                                    "_us";
                         });

} // namespace
} // namespace holdfast::test
