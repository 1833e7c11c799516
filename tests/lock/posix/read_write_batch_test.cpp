// SPDX-License-Identifier: MIT OR Apache-2.0
// When who has to wait for a reader-writer lock leaves it to others: what a lock says of itself (read_write_batch.h).
//
// Shown able to fail, each by the test named: a release that is not counted (EachReleaseIsCounted, ReleasesBeside...);
// a count that carries into the state (ACountThatWraps...); always cold (ANewLock...); what was found cold is not noted
// (ALockThatNobodyReleases...); a thread that leaves empty-handed stays critical (AThreadThatLeavesEmptyHanded...).
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/thread_cpus.hpp"
#include "lock/posix/read_write_batch.h"
#include "patience.hpp"

namespace {

class read_write_batch : public testing::Test {
protected:
    hf_rw_lock lock{};
    hf_thread_record *self = hf_self();

    void read() {
        ASSERT_TRUE(hf_rw_has_begun(hf_rw_read_begin(&lock, self)));
        hf_rw_read_release(&lock, self);
    }
    void write() {
        ASSERT_TRUE(hf_rw_write_try_acquire(&lock, self));
        hf_rw_write_release(&lock, self);
    }
    void use(unsigned times) {
        for (unsigned i = 0; i < times; i++)
            i % 2 ? read() : write();
    }
    bool takes(hf_rw_use use) {
        hf_wait wait = hf_wait_begin(self, &lock.state);
        return hf_rw_take_in_turn(&lock, self, use, nullptr, &wait);
    }
};

TEST_F(read_write_batch, EachReleaseIsCounted) {
    read();
    EXPECT_EQ(lock.releases, 1);
    write();
    EXPECT_EQ(lock.releases, 2);
    EXPECT_EQ(lock.state, 0u);
}

TEST_F(read_write_batch, ACountThatWrapsLeavesTheStateAlone) {
    use(1u << 17);
    EXPECT_EQ(lock.releases, 0);
    EXPECT_EQ(lock.state, 0u);
    ASSERT_TRUE(hf_rw_has_begun(hf_rw_read_begin(&lock, self)));
    lock.releases = UINT16_MAX;
    lock.carry = UINT16_MAX;
    hf_rw_read_release(&lock, self);
    EXPECT_EQ(lock.releases, 0);
    EXPECT_EQ(lock.state, 0u);
}

TEST_F(read_write_batch, ReleasesBesideOtherReadersAreCountedToo) {
    ASSERT_TRUE(hf_rw_has_begun(hf_rw_read_begin(&lock, self)));
    std::thread([&] {
        hf_thread_record *other = hf_self();
        hf_rw_read_begin(&lock, other);
        hf_rw_read_release(&lock, other);
    }).join();
    EXPECT_EQ(lock.releases, 1);
    hf_rw_read_release(&lock, self);
    EXPECT_EQ(lock.releases, 2);
}

TEST_F(read_write_batch, ANewLockIsTakenForCold) {
    EXPECT_TRUE(hf_rw_is_known_as_cold(&lock));
    use(HF_RW_COLD_RELEASES);
    EXPECT_FALSE(hf_rw_is_known_as_cold(&lock));
}

TEST_F(read_write_batch, ALockThatNobodyReleasesIsFoundCold) {
    use(HF_RW_COLD_RELEASES);
    ASSERT_TRUE(hf_rw_write_try_acquire(&lock, self));
    EXPECT_FALSE(takes(HF_RW_TO_READ));
    EXPECT_TRUE(hf_rw_is_known_as_cold(&lock));
    hf_rw_write_release(&lock, self);
    use(HF_RW_COLD_RELEASES - 2);
    EXPECT_TRUE(hf_rw_is_known_as_cold(&lock)) << "for so many releases";
    use(1);
    EXPECT_FALSE(hf_rw_is_known_as_cold(&lock));
}

TEST_F(read_write_batch, AThreadThatLeavesEmptyHandedIsNotCritical) {
    ASSERT_TRUE(hf_rw_write_try_acquire(&lock, self));
    uint32_t depth = self->critical.critical_depth;
    EXPECT_FALSE(takes(HF_RW_TO_READ));
    EXPECT_FALSE(takes(HF_RW_TO_WRITE));
    EXPECT_EQ(self->critical.critical_depth, depth);
    EXPECT_EQ(lock.state, static_cast<uint32_t>(HF_RW_WRITER)) << "neither counted nor announced";
    hf_rw_write_release(&lock, self);
}

// Somebody uses it again and again without a break. A waiter gets it, for either use. Both have to run at one time,
// which on a busy machine they may never do by chance: on one CPU they take turns.
TEST_F(read_write_batch, AHotLockIsHadInTurn) {
    std::vector<int> cpus = holdfast::usable_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "needs two CPUs";
    std::atomic<bool> stop = false;
    std::thread other([&] {
        EXPECT_TRUE(holdfast::stay_on({cpus[1]}));
        hf_thread_record *record = hf_self();
        while (!stop)
            if (hf_rw_write_try_acquire(&lock, record))
                hf_rw_write_release(&lock, record);
    });
    int turns = 0;
    std::thread([&] {
        EXPECT_TRUE(holdfast::stay_on({cpus[0]}));
        self = hf_self();
        for (holdfast::test::patience left; turns < 20 && !left.is_over();) {
            hf_rw_use use = turns % 2 ? HF_RW_TO_READ : HF_RW_TO_WRITE;
            if (!takes(use))
                continue;
            turns++;
            EXPECT_EQ(self->critical.critical_depth, 1u);
            use == HF_RW_TO_READ ? hf_rw_read_release(&lock, self) : hf_rw_write_release(&lock, self);
        }
    }).join();
    stop = true;
    other.join();
    EXPECT_EQ(turns, 20);
    EXPECT_EQ(lock.state, 0u);
}

} // namespace
