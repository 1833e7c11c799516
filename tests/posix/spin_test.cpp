// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_spin_*: exclusion among threads and processes, tries, memory.
//
// Shown able to fail: with LD_PRELOAD of broken_spin_lock.c
// (posix/soak) it fails, aborts or is stuck.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <string>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

int trylock_elsewhere(pthread_spinlock_t *lock) {
    int told = -1;
    in_thread([&] {
        told = pthread_spin_trylock(lock);
        if (told == 0) {
            EXPECT_EQ(pthread_spin_unlock(lock), 0);
        }
    });
    return told;
}

class every_spinlock : public testing::TestWithParam<int> {
protected:
    every_spinlock() {
        std::memset(const_cast<int *>(&memory), -1, sizeof(memory));
        EXPECT_EQ(pthread_spin_init(lock, GetParam()), 0);
    }
    ~every_spinlock() override { EXPECT_EQ(pthread_spin_destroy(lock), 0); }

    pthread_spinlock_t memory;
    pthread_spinlock_t *lock = &memory;
};

INSTANTIATE_TEST_SUITE_P(spin, every_spinlock, testing::Values(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
                         [](const auto &info) { return std::string(info.param ? "Shared" : "Private"); });

TEST_P(every_spinlock, IsFreeWhenMadeBusyWhenHeldFreeWhenUnlocked) {
    EXPECT_EQ(trylock_elsewhere(lock), 0);
    ASSERT_EQ(pthread_spin_lock(lock), 0);
    EXPECT_EQ(trylock_elsewhere(lock), EBUSY);
    EXPECT_EQ(pthread_spin_trylock(lock), EBUSY) << "for its holder as well";
    ASSERT_EQ(pthread_spin_unlock(lock), 0);
    EXPECT_EQ(trylock_elsewhere(lock), 0);
    ASSERT_EQ(pthread_spin_trylock(lock), 0);
    EXPECT_EQ(trylock_elsewhere(lock), EBUSY);
    ASSERT_EQ(pthread_spin_unlock(lock), 0);
}

TEST_P(every_spinlock, ExcludesMoreThreadsThanThereAreCpus) {
    const int threads = static_cast<int>(std::thread::hardware_concurrency()) + 4;
    constexpr int rounds = 4000;
    long first = 0, second = 0;
    team all(threads, [&](int member) {
        for (int round = 0; round < rounds; round++) {
            if (member % 2 && round % 4 == 0) {
                while (pthread_spin_trylock(lock) != 0)
                    sched_yield();
            } else {
                EXPECT_EQ(pthread_spin_lock(lock), 0);
            }
            EXPECT_EQ(first, second);
            first++;
            second++;
            EXPECT_EQ(pthread_spin_unlock(lock), 0);
        }
    });
    all.join();
    EXPECT_EQ(first, long(threads) * rounds);
}

TEST_P(every_spinlock, WaitersGetThroughAfterALongSection) {
    ASSERT_EQ(pthread_spin_lock(lock), 0);
    std::atomic<int> been = 0;
    team waiters(5, [&](int) {
        EXPECT_EQ(pthread_spin_lock(lock), 0);
        been++;
        EXPECT_EQ(pthread_spin_unlock(lock), 0);
    });
    a_short_while();
    EXPECT_EQ(been, 0);
    ASSERT_EQ(pthread_spin_unlock(lock), 0);
    waiters.join();
    EXPECT_EQ(been, 5);
}

TEST_P(every_spinlock, AnotherThreadSeesWhatWasWrittenBeforeUnlock) {
    long written = 0;
    std::atomic<bool> stop = false;
    team writer;
    writer.add([&] {
        for (long value = 1; !stop; value++) {
            pthread_spin_lock(lock);
            written = value;
            pthread_spin_unlock(lock);
            if (value % 64 == 0)
                sched_yield();
        }
    });
    long last = 0;
    for (int round = 0; round < 2000; round++) {
        pthread_spin_lock(lock);
        EXPECT_GE(written, last);
        last = written;
        pthread_spin_unlock(lock);
    }
    stop = true;
}

TEST_P(every_spinlock, MayBeDestroyedAndMadeAgain) {
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(pthread_spin_lock(lock), 0);
        ASSERT_EQ(pthread_spin_unlock(lock), 0);
        ASSERT_EQ(pthread_spin_destroy(lock), 0);
        ASSERT_EQ(pthread_spin_init(lock, GetParam()), 0);
        EXPECT_EQ(trylock_elsewhere(lock), 0);
    }
}

// The next owner may destroy and free the lock while the one before it is still inside unlock.
TEST_P(every_spinlock, MayBeFreedByTheNextOwner) {
    for (int round = 0; round < 400; round++) {
        auto *own = new pthread_spinlock_t;
        ASSERT_EQ(pthread_spin_init(own, GetParam()), 0);
        ASSERT_EQ(pthread_spin_lock(own), 0);
        team last;
        last.add([own] {
            EXPECT_EQ(pthread_spin_lock(own), 0);
            EXPECT_EQ(pthread_spin_unlock(own), 0);
            EXPECT_EQ(pthread_spin_destroy(own), 0);
            *own = -1;
            delete own;
        });
        if (round % 2)
            sched_yield();
        ASSERT_EQ(pthread_spin_unlock(own), 0);
    }
}

TEST_P(every_spinlock, SignalsDoNotEndAWait) {
    counting_handler handler;
    ASSERT_EQ(pthread_spin_lock(lock), 0);
    std::atomic<bool> got = false, may_end = false;
    team waiting;
    waiting.add([&] {
        EXPECT_EQ(pthread_spin_lock(lock), 0);
        got = true;
        EXPECT_EQ(pthread_spin_unlock(lock), 0);
        while (!may_end)
            sched_yield();
    });
    handler.interrupt(waiting.handle(0));
    EXPECT_FALSE(got);
    ASSERT_EQ(pthread_spin_unlock(lock), 0);
    EXPECT_TRUE(eventually([&] { return got.load(); }));
    may_end = true;
}

TEST_P(every_spinlock, LeavesErrnoAlone) {
    errno = 1234;
    ASSERT_EQ(pthread_spin_lock(lock), 0);
    ASSERT_EQ(pthread_spin_trylock(lock), EBUSY);
    ASSERT_EQ(pthread_spin_unlock(lock), 0);
    EXPECT_EQ(errno, 1234);
}

TEST_P(every_spinlock, IsNoLargerThanItsType) {
    struct {
        unsigned before;
        pthread_spinlock_t lock;
        unsigned behind;
    } between = {0xabcdef01, 0, 0x10fedcba};
    ASSERT_EQ(pthread_spin_init(&between.lock, GetParam()), 0);
    team all(4, [&](int) {
        for (int round = 0; round < 200; round++) {
            EXPECT_EQ(pthread_spin_lock(&between.lock), 0);
            EXPECT_EQ(pthread_spin_unlock(&between.lock), 0);
        }
    });
    all.join();
    ASSERT_EQ(pthread_spin_destroy(&between.lock), 0);
    EXPECT_EQ(between.before, 0xabcdef01);
    EXPECT_EQ(between.behind, 0x10fedcba);
}

TEST(shared_spinlock, ExcludesAcrossProcesses) {
    struct shared {
        pthread_spinlock_t lock;
        long first, second;
    };
    constexpr int rounds = 4000;
    shared_with_children<shared> page;
    ASSERT_EQ(pthread_spin_init(&page->lock, PTHREAD_PROCESS_SHARED), 0);
    auto work = [&] {
        for (int round = 0; round < rounds; round++)
            if (pthread_spin_lock(&page->lock) || page->first++ != page->second++ || pthread_spin_unlock(&page->lock))
                return false;
        return true;
    };
    EXPECT_TRUE(succeeds_here_and_in(3, work));
    EXPECT_EQ(page->first, 4 * rounds);
    EXPECT_EQ(page->second, 4 * rounds);
    EXPECT_EQ(pthread_spin_destroy(&page->lock), 0);
}

} // namespace
} // namespace holdfast::test
