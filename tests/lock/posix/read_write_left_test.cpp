// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that is thrown out of its wait to read is not counted any more, wherever it was: asleep, or gone from the
// count for a while, since the lock was hot (read_write_batch.h).
//
// Shown able to fail: read_in_turn (read_write_lock.c) that does not note that the reader is not counted any more
// (AsideIsNotTakenOutOfTheCountTwice: a lock with 2^28 - 1 readers), or that it is counted again
// (AsleepAfterThatIsTakenOut: one reader stays).
#include <csetjmp>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

#include "base/clock.h"
#include "thread/thread_record.h"

extern "C" {
#include "lock/posix/read_write_batch.h"
#include "lock/posix/read_write_lock.h"
}

namespace {

hf_rw_lock lock;
sigjmp_buf place;

int (*clock_before)(clockid_t, timespec *);

// A handler that comes while the clock is read: it jumps when no reader is counted.
int leave_aside(clockid_t clock, timespec *now) {
    if (hf_load_relaxed(&lock.state) == HF_RW_WRITER)
        siglongjmp(place, 1);
    return clock_before(clock, now);
}

void leave(int) {
    siglongjmp(place, 1);
}

class ReadThatIsLeft : public testing::Test {
protected:
    void SetUp() override {
        lock = {};
        lock.state = HF_RW_WRITER;                                             // somebody's
        lock.cold_since = static_cast<hf_release_count>(-HF_RW_COLD_RELEASES); // nobody knows that it is cold
        ASSERT_TRUE(hf_rw_may_be_had_in_turn(&lock));
        clock_before = hf_read_clock;
    }
    void TearDown() override { hf_store_relaxed(&hf_read_clock, clock_before); }

    // Does not return.
    static void read() {
        hf_thread_record *self = hf_self();
        ASSERT_FALSE(hf_rw_has_begun(hf_rw_read_begin(&lock, self)));
        hf_rw_wait_to_read(&lock, self, nullptr);
        FAIL() << "it has the lock";
    }
    static std::uint32_t without_sleepers() { return lock.state & ~static_cast<std::uint32_t>(HF_RW_READERS_SLEEP); }
};

TEST_F(ReadThatIsLeft, AsideIsNotTakenOutOfTheCountTwice) {
    std::uint32_t depth = hf_self()->critical.critical_depth;
    hf_monotonic_ns(); // finds the clock
    clock_before = hf_read_clock;
    if (sigsetjmp(place, 1) == 0) {
        hf_store_relaxed(&hf_read_clock, &leave_aside);
        read();
    }
    EXPECT_EQ(without_sleepers(), std::uint32_t{HF_RW_WRITER});
    EXPECT_EQ(hf_self()->critical.critical_depth, depth);
}

TEST_F(ReadThatIsLeft, AsleepAfterThatIsTakenOut) {
    std::uint32_t depth = hf_self()->critical.critical_depth;
    std::signal(SIGUSR1, leave);
    std::thread thrower([reader = pthread_self()] {
        while (!(hf_load_relaxed(&lock.state) & HF_RW_READERS_SLEEP)) // it is about to sleep, for ever
            std::this_thread::yield();
        pthread_kill(reader, SIGUSR1);
    });
    if (sigsetjmp(place, 1) == 0)
        read();
    thrower.join();
    EXPECT_EQ(without_sleepers(), std::uint32_t{HF_RW_WRITER});
    EXPECT_EQ(hf_self()->critical.critical_depth, depth);
}

} // namespace
